const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** Whole numbers with units, the largest unit first, each at most once: `30s`, `5m`, `1h30m`, `500ms`. */
export const DURATION_PATTERN = /^(?=[0-9])(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?(?:[0-9]+ms)?$/;

/** Parses a duration of the configuration. Returns milliseconds; undefined for other texts. */
export function parseDuration(text: string): number | undefined {
  if (!DURATION_PATTERN.test(text)) return undefined;
  return [...text.matchAll(/(?<![0-9])([0-9]+)([a-z]+)/g)].reduce((total, [, count, name]) => {
    const unit = UNITS.find(([unitName]) => unitName === name);
    return total + Number(count) * (unit?.[1] ?? Number.NaN);
  }, 0);
}

/** Formats whole, non-negative milliseconds in the shortest form; the reverse of parseDuration. */
export function formatDuration(milliseconds: number): string {
  let rest = milliseconds;
  let text = '';
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) text += `${String(count)}${name}`;
  }
  return text === '' ? '0s' : text;
}

const UNIT_WORDS: readonly (readonly [word: RegExp, unit: string])[] = [
  [/^(?:ms|msecs?|millis|milliseconds?)$/, 'milliseconds are "ms"'],
  [/^(?:s|secs?|seconds?)$/, 'seconds are "s"'],
  [/^(?:m|mins?|minutes?)$/, 'minutes are "m"'],
  [/^(?:h|hrs?|hours?)$/, 'hours are "h"'],
  [/^(?:d|days?)$/, 'days are "d"'],
  [/^(?:w|wks?|weeks?)$/, 'weeks are written in days ("d")'],
];

/** Says how to correct a text that is probably meant as a duration, without the text; empty if unknown. */
export function adviseOnDuration(text: string): string {
  const written = text.trim().toLowerCase();
  if (!/^[0-9][0-9a-z.\s]*$/.test(written)) return '';
  if (written.includes('.')) return 'its numbers must be whole, in a smaller unit where need be';
  if (/[0-9]$/.test(written)) return 'a number has no unit';
  const words = written.match(/[a-z]+/g) ?? [];
  const meant = words.map((word) => UNIT_WORDS.find(([known]) => known.test(word))?.[1]);
  if (meant.includes(undefined)) return '';
  const other = words.findIndex((word) => !UNITS.some(([name]) => name === word));
  if (other >= 0) return meant[other] ?? '';
  const together = written.replaceAll(/\s/g, '');
  if (parseDuration(together) === undefined) return 'the largest unit comes first, and each once';
  return /\s/.test(text) ? 'remove the spaces' : 'units are small letters';
}

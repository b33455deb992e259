const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** Whole numbers with units, largest unit first, each at most once: `30s`, `5m`, `1h30m`, `500ms`. */
export const DURATION_PATTERN = /^(?=[0-9])(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?(?:[0-9]+ms)?$/;

/** Milliseconds of a duration as it is written in the configuration; undefined when the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (!DURATION_PATTERN.test(text)) return undefined;
  return [...text.matchAll(/(?<![0-9])([0-9]+)([a-z]+)/g)].reduce((total, [, count, name]) => {
    const unit = UNITS.find(([unitName]) => unitName === name);
    return total + Number(count) * (unit?.[1] ?? Number.NaN);
  }, 0);
}

/** The shortest form of a whole, non-negative number of milliseconds; the reverse of parseDuration. */
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

import leven from 'leven';

/** Returns `1 name`, `2 names` or `1,000 names`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${withCommas(count)} ${count === 1 ? noun : plural}`;
}

/** Returns `12,345` for a whole number. The first `toLocaleString` of a process blocks the event loop for 30 ms. */
export function withCommas(count: number): string {
  if (count < 1000) return String(count);
  return `${withCommas(Math.floor(count / 1000))},${String(count % 1000).padStart(3, '0')}`;
}

/** Returns `12.3 %` for the ratio 0.123. */
export function percent(ratio: number): string {
  return `${threeDigits(100 * ratio)} %`;
}

/** Rounds to three significant digits. */
export function threeDigits(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** Returns a duration in its two largest units: `450 ms`, `12 s`, `1 min 30 s`, `2 h 5 min`. */
export function durationInWords(seconds: number): string {
  const sign = seconds < 0 ? '-' : '';
  const size = Math.abs(seconds);
  if (size < 1) return `${sign}${threeDigits(size * 1000)} ms`;
  if (size < 60) return `${sign}${threeDigits(size)} s`;
  const whole = Math.round(size);
  const units: [number, string][] = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3_600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ];
  const first = units.findIndex(([count]) => count > 0);
  const shown = units.slice(first, first + 2).filter(([count]) => count > 0);
  return sign + shown.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

/** Returns `3 min 2 s ago`, for Unix times in seconds. */
export function ago(time: number, now: number): string {
  return now - time < 1 ? 'just now' : `${durationInWords(Math.floor(now - time))} ago`;
}

/** Returns `2026-03-01 12:30:00 UTC` for a Unix time in seconds. */
export function timeInWords(time: number): string {
  return `${new Date(time * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Normalizes a name for comparison: equal for `keyTransactions`, `key-transactions` and `key_transactions`. */
export function withoutStyle(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '');
}

/** Returns `; did you mean "..."?` with the nearest known name; an empty text if none or several are nearest. */
export function suggest(name: string, known: readonly string[]): string {
  const [same, another] = known.filter((candidate) => withoutStyle(candidate) === withoutStyle(name));
  if (same !== undefined && another === undefined) return `; did you mean "${same}"?`;
  const written = name.toLowerCase();
  const limit = Math.max(2, Math.floor(name.length / 3));
  const isNear = (candidate: string, distance: number): boolean => {
    if (distance <= limit && distance < candidate.length) return true;
    if (name.length < 2) return false;
    const begins = leven(written, candidate.slice(0, name.length)) <= name.length / 5;
    return begins || candidate.split(/[^\p{L}\p{N}]/u).some((word) => leven(written, word) <= name.length / 5);
  };
  const [best, next] = known
    .map((candidate) => ({ candidate, distance: leven(written, candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => isNear(candidate.toLowerCase(), distance))
    .toSorted((a, b) => a.distance - b.distance);
  return best === undefined || best.distance === next?.distance ? '' : `; did you mean "${best.candidate}"?`;
}

/** Cuts a text to at most `length` characters, between words: a cut word may be a part of a key. */
export function cutAtWord(text: string, length: number): string {
  const characters = Array.from(text);
  if (characters.length <= length) return text;
  const cut = characters.slice(0, length).join('');
  return cut.slice(0, cut.lastIndexOf(' ') + 1).trimEnd();
}

import { parseOpenMetrics } from '../../support/exposition.ts';

/** Values by time (Unix seconds). */
export type Points = ReadonlyMap<number, number>;

const SAMPLE = /^((?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)\{.*\}) (?<value>-?\d+(?:\.\d+)?(?:e[+-]\d+)?) (?<time>\d{10})$/;

/**
 * Strict reader of a backfill document: families in one piece, a series in one piece with ascending times in whole
 * seconds of this century, one `# EOF` at the very end; everything else as OpenMetrics asks for. Throws on any deviation.
 * Gives the points by series as written.
 */
export function readDocument(document: string): ReadonlyMap<string, Points> {
  const lines = document.split('\n');
  if (lines.pop() !== '' || lines.at(-1) !== '# EOF') throw new Error('does not end in # EOF and a line feed');
  const series = new Map<string, Map<number, number>>();
  const reduced: string[] = [];
  let current: { readonly key: string; readonly points: Map<number, number>; latest: number } | undefined;
  for (const line of lines) {
    if (line.startsWith('#')) {
      reduced.push(line);
      current = undefined;
      continue;
    }
    const match = SAMPLE.exec(line);
    if (match?.groups === undefined) throw new Error(`no sample: ${line}`);
    const key = match[1]!;
    const { value, time } = match.groups;
    if (current?.key !== key) {
      if (series.has(key)) throw new Error(`series in two pieces: ${key}`);
      current = { key, points: new Map(), latest: 0 };
      series.set(key, current.points);
      reduced.push(line);
    }
    if (Number(time) <= current.latest) throw new Error(`times do not ascend: ${line}`);
    current.latest = Number(time);
    current.points.set(current.latest, Number(value));
  }
  // One point of each series keeps the rules about families, labels and escapes.
  parseOpenMetrics(`${reduced.join('\n')}\n`);
  return series;
}

/** What a document has at one time: values by series as written. */
export function valuesAt(series: ReadonlyMap<string, Points>, time: number): Map<string, number> {
  const found = new Map<string, number>();
  for (const [key, points] of series) {
    const value = points.get(time);
    if (value !== undefined) found.set(key, value);
  }
  return found;
}

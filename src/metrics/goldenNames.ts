import type { GoldenMetric } from '../api/upstreamReader.ts';

/** Suffixes that Prometheus reserves for types other than gauge. */
const RESERVED_SUFFIX = /_(?:total|count|sum|bucket|created|info)$/;

/** Limits in characters for a family's name, and for a title or unit in its HELP: longer ones do not help to find a metric. */
const MAX_NAME = 200;
const MAX_TEXT = 200;

/**
 * The name of the family of a golden metric, such as `newrelic_ext_service_response_time_ms`; undefined where it would be
 * longer than 200 characters.
 *
 * @param type `DOMAIN-TYPE`
 */
export function goldenFamilyName(type: string, metric: string): string | undefined {
  const words = `${type}_${metric}`
    .slice(0, 2 * MAX_NAME)
    .replace(/[^a-zA-Z0-9_]/gu, '_')
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase();
  const name = `newrelic_${words}`;
  const safe = RESERVED_SUFFIX.test(name) ? `${name}_value` : name;
  return safe.length > MAX_NAME ? undefined : safe;
}

/** HELP of a golden metric: title and unit as New Relic names them, on one line of bounded length. */
export function goldenHelp(type: string, { name, title, unit }: Pick<GoldenMetric, 'name' | 'title' | 'unit'>): string {
  return `${oneLine(title)} (${oneLine(unit)}); golden metric ${oneLine(name)} of ${type} as New Relic defines it`;
}

/** Sorts the definitions of one metric by title, then by unit: HELP comes from the first, in any order of responses. */
export function byTitle(a: Pick<GoldenMetric, 'title' | 'unit'>, b: Pick<GoldenMetric, 'title' | 'unit'>): number {
  return compareText(a.title, b.title) || compareText(a.unit, b.unit);
}

/** Compares two texts by code points. The operator `<` compares UTF-16 units, and would put U+1F600 before U+FFFD. */
export function compareText(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let at = 0; at < shorter; at += 1) {
    const difference = rankAt(a, at) - rankAt(b, at);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** The rank of a UTF-16 unit: surrogates, which write the characters beyond U+FFFF, come after all others. */
function rankAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** A text of New Relic on one line: without control characters, and at most 200 characters long. */
function oneLine(text: string): string {
  const plain = text
    .slice(0, 4 * MAX_TEXT)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim();
  const characters = Array.from(plain);
  return characters.length > MAX_TEXT ? `${characters.slice(0, MAX_TEXT - 1).join('')}…` : plain;
}

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

/** The title and unit in a HELP of `goldenHelp`. */
export function titleAndUnit(help: string): { readonly title: string; readonly unit: string } {
  const [, title = help, unit = ''] = /^(.*) \((.*)\); golden metric /u.exec(help) ?? [];
  return { title, unit };
}

/** Sorts the definitions of one metric by title, then by unit: HELP comes from the first, in any order of responses. */
export function byTitle(a: Pick<GoldenMetric, 'title' | 'unit'>, b: Pick<GoldenMetric, 'title' | 'unit'>): number {
  return compareText(a.title, b.title) || compareText(a.unit, b.unit);
}

/** Compares two texts by code points. */
export function compareText(a: string, b: string): number {
  const [first, second] = [orderKey(a), orderKey(b)];
  return first < second ? -1 : Number(first > second);
}

/**
 * A text that the operator `<` puts where code points put the given one. `<` compares UTF-16 units, and would put U+1F600 before
 * U+FFFD, so surrogates trade places with the units above them.
 */
export function orderKey(text: string): string {
  return text.replace(/[\ud800-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0);
    return String.fromCharCode(code < 0xe000 ? code + 0x2000 : code - 0x800);
  });
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

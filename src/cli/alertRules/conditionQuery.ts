import { readStatement } from '../../nrql/statement.ts';

/** The name of the column when the text was changed. */
const VALUE = 'value';

/**
 * The text of a condition's query as the exporter runs it; `value` is the name of its column, undefined for the only one.
 *
 * An inner query without LIMIT gives ten rows, but New Relic evaluates the whole set of a condition. A count over no rows is 0,
 * but the stream of a condition has no value then, and neither has 0 / 0.
 */
export function conditionQuery(text: string): { readonly nrql: string; readonly value: string | undefined } {
  const unlimited = readStatement(text).unlimited.toSorted((a, b) => b - a);
  const whole = unlimited.reduce((query, at) => insert(query, at, ' LIMIT MAX'), text);
  const { columns, facets, sources } = readStatement(whole);
  const [column] = columns;
  const count = column?.calls.find(({ name }) => name === 'count' || name === 'uniquecount');
  if (column === undefined || columns.length > 1 || facets.length > 0 || count === undefined) {
    return { nrql: whole, value: undefined };
  }
  // Rows of Metric are counted by the queried metric.
  const isOfMetrics = sources.some((name) => name.toLowerCase() === 'metric') && count.name === 'count';
  const rows = isOfMetrics ? whole.slice(count.at, count.end) : 'count(*)';
  // The alias written here replaces an alias of the text.
  const value = `${whole.slice(column.at, column.end)} + 0 * ${rows} / ${rows} AS ${VALUE}`;
  return { nrql: whole.slice(0, column.at) + value + whole.slice(column.aliasEnd), value: VALUE };
}

function insert(text: string, at: number, words: string): string {
  return text.slice(0, at) + words + text.slice(at);
}

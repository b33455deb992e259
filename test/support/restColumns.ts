import { toColumns } from '../../src/api/rest/restColumns.ts';
import type { Columns } from '../../src/formulas/metricInputs.ts';

/** Values of a metric in the names and units of the REST interface, as its reader gives them; undefined ones are unreadable. */
export function inColumns(
  metric: string,
  values: Readonly<Record<string, number | undefined>>,
  seconds = 1800,
): Columns {
  const known = Object.entries(values).filter((entry): entry is [string, number] => entry[1] !== undefined);
  return toColumns(metric, { from: 0, to: seconds, values: Object.fromEntries(known) });
}

/** The same of several metrics. */
export function allInColumns(
  metrics: Readonly<Record<string, Readonly<Record<string, number | undefined>>>>,
  seconds = 1800,
): ReadonlyMap<string, Columns> {
  return new Map(Object.entries(metrics).map(([name, values]) => [name, inColumns(name, values, seconds)]));
}

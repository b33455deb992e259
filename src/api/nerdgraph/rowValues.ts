import { ZERO_WITHOUT_ROW } from './metricSelector.ts';
import { isApdex, isDatastore, known, METRIC, type Columns } from '../../formulas/metricInputs.ts';
import { apdexScore } from '../../formulas/ratesAndScores.ts';
import { valuesOf } from '../../formulas/valueFormulas.ts';
import type { MetricDataResult, MetricSelection, TimeRange } from '../upstreamReader.ts';
import type { RollingSummary, RollingValues } from '../types.ts';

const NO_CALLS: Columns = { count: 0, sum: 0, exclusive: 0 };

/**
 * The metric data of an application or host over one window: the rows, with what families and custom metrics read of each. New Relic
 * returns no row where nothing happened, so three metrics without a row are 0 if there is any other row.
 */
export function metricDataOf(
  { names, values }: MetricSelection,
  rows: Map<string, Columns>,
  window: TimeRange,
): MetricDataResult {
  for (const name of rows.size === 0 ? [] : ZERO_WITHOUT_ROW) {
    if (!rows.has(name) && names.includes(name)) rows.set(name, NO_CALLS);
  }
  const seconds = window.to - window.from;
  const ofCustom = new Map(Array.from(values ?? [], ([name, wanted]) => [name, valuesOf(name, wanted, rows, seconds)]));
  for (const [name, row] of rows) {
    const own = ofCustom.get(name);
    const read = isApdex(name) ? row : { count: row.count, sum: row.sum };
    rows.set(name, own === undefined ? read : { ...read, values: own });
  }
  return { window, metrics: rows, datastores: [...rows.keys()].filter(isDatastore).sort() };
}

/**
 * The rolling values of an application or a host from its rows over the last minutes. A value is absent without rows, or
 * where its denominator is 0. The Apdex target of an application comes with the list.
 */
export function rollingOf(rows: ReadonlyMap<string, Columns>, seconds: number): RollingValues {
  const reports = rows.size > 0;
  const count = (name: string): number | undefined => rows.get(name)?.count ?? (reports ? 0 : undefined);
  const web = count(METRIC.web);
  const errors = count(METRIC.errors);
  const summary: RollingSummary = {
    responseTime: ratio(rows.get(METRIC.web)?.sum ?? 0, web),
    requestRate: ratio(web, seconds),
    errorRate: ratio(errors, (web ?? 0) + (count(METRIC.nonWeb) ?? 0)),
    apdexScore: known(apdexScore(rows.get(METRIC.apdex))),
  };
  const views = rows.get(METRIC.endUser);
  const verdicts = rows.get(METRIC.endUserApdex);
  if (views === undefined && verdicts === undefined) return { summary };
  return {
    summary,
    endUserSummary: {
      responseTime: ratio(views?.sum, views?.count),
      requestRate: ratio(views?.count, seconds),
      apdexTarget: verdicts?.max,
      apdexScore: known(apdexScore(verdicts)),
    },
  };
}

/**
 * The rolling values of a key transaction, from its entity and from the Apdex metric of its transaction.
 *
 * @param reports true if the owning application has rows, so that a missing `row` means no requests
 */
export function keyTransactionOf(
  row: Columns | undefined,
  apdex: Columns | undefined,
  reports: boolean,
  seconds: number,
): RollingValues {
  const count = row?.count ?? (reports ? 0 : undefined);
  const summary: RollingSummary = {
    responseTime: ratio(row?.sum ?? 0, count),
    requestRate: ratio(count, seconds),
    errorRate: ratio(row?.exclusive, row?.count),
    apdexScore: row === undefined ? undefined : known(apdexScore(apdex)),
  };
  return { summary };
}

/** Undefined without data, for a whole that is not positive, and for a result that is not finite. */
function ratio(part = NaN, whole = NaN): number | undefined {
  return whole > 0 ? known(part / whole) : undefined;
}

import type { NeededPart, QueryKind } from './batching.ts';
import { MetricSelector, ZERO_WITHOUT_ROW } from './metricSelector.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { createRowsRead } from './nextCall.ts';
import { ITSELF } from './rows.ts';
import type { BatchRead, MetricDataResult, MetricDataSubject, MetricSelection, TimeRange } from '../upstreamReader.ts';
import { isApdex, isDatastore, METRIC, type Columns } from '../../formulas/metricInputs.ts';
import { NEED_SQUARES, SIGN_OF_LIFE, valuesOf } from '../../formulas/valueFormulas.ts';

/** Metrics of page loads, which belong to no host. */
export const BROWSER_METRICS: readonly string[] = [METRIC.endUser, METRIC.endUserApdex];

type Scope = 'application' | 'host' | 'names';

/** Selectors for a selection of metrics. The first use makes a selector. */
const selectors = new WeakMap<MetricSelection, Partial<Record<Scope, MetricSelector>>>();

/** @param scope `names`: the requested names only; otherwise also datastores and the sign of life */
export function selectorOf(selection: MetricSelection, scope: Scope): MetricSelector {
  const byScope = selectors.get(selection) ?? {};
  selectors.set(selection, byScope);
  const known = byScope[scope];
  if (known !== undefined) return known;
  const { names, values } = selection;
  if (scope === 'names') return (byScope.names = new MetricSelector(names));
  const isRead = (name: string): boolean =>
    !isDatastore(name) && name !== SIGN_OF_LIFE && !(scope === 'host' && BROWSER_METRICS.includes(name));
  const needsSquares = names.some((name) => values?.get(name)?.some((value) => NEED_SQUARES.has(value)) === true);
  return (byScope[scope] = new MetricSelector([...names.filter(isRead), SIGN_OF_LIFE], [], true, needsSquares));
}

/** Queries of metric data. Series use them too, with a row for each bucket. */
const METRIC_DATA = {
  application: { read: 'application_metrics', groupBy: 'application' },
  host: { read: 'host_metrics', groupBy: 'host' },
} as const satisfies Record<string, QueryKind>;

export function makeMetricDataPart(
  { applicationId, hostKey, metrics }: MetricDataSubject,
  kinds: Readonly<Record<'application' | 'host', QueryKind>> = METRIC_DATA,
): NeededPart {
  const [scope, hosts] = hostKey === undefined ? (['application'] as const) : (['host', [hostKey]] as const);
  return { id: applicationId, hosts, selector: selectorOf(metrics, scope), kind: kinds[scope] };
}

/** Returns the queries of metric data with a limit for their rows. */
export function limitMetricDataKinds(maxRows: number): Readonly<Record<'application' | 'host', QueryKind>> {
  return { application: { ...METRIC_DATA.application, maxRows }, host: { ...METRIC_DATA.host, maxRows } };
}

/** Reads summarized metric data of many applications or hosts with one query. */
export function createMetricDataRead(account: NerdGraphAccount): BatchRead<MetricDataSubject, MetricDataResult> {
  return createRowsRead(
    account,
    () => (subject) => [makeMetricDataPart(subject)],
    ({ hostKey, metrics }, rows, range) =>
      buildMetricData(metrics, rows?.rows.get(hostKey ?? ITSELF) ?? new Map<string, Columns>(), rows?.window ?? range),
  );
}

const NO_CALLS: Columns = { count: 0, sum: 0, exclusive: 0 };

/**
 * Builds the columns for families and the values of custom metrics from the rows of an application or host. New Relic
 * returns no row for a metric without calls, so three metrics become 0 if any row exists.
 */
export function buildMetricData(
  { names, values }: MetricSelection,
  rows: Map<string, Columns>,
  window: TimeRange,
): MetricDataResult {
  for (const name of rows.size === 0 ? [] : ZERO_WITHOUT_ROW) {
    if (!rows.has(name) && names.includes(name)) rows.set(name, NO_CALLS);
  }
  const seconds = window.to - window.from;
  const valuesByName = new Map(
    Array.from(values ?? [], ([name, wanted]) => [name, valuesOf(name, wanted, rows, seconds)]),
  );
  for (const [name, row] of rows) {
    const customValues = valuesByName.get(name);
    const columns = isApdex(name) ? row : { count: row.count, sum: row.sum };
    rows.set(name, customValues === undefined ? columns : { ...columns, values: customValues });
  }
  return { window, metrics: rows, datastores: [...rows.keys()].filter(isDatastore).sort() };
}

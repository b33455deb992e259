import { ZERO_WITHOUT_ROW } from './metricSelector.ts';
import { isDatastore, METRIC } from '../../formulas/metricInputs.ts';
import {
  kindOf,
  NEED_SQUARES,
  VALUES,
  type Formula,
  type MetricRow,
  type MetricRows,
} from '../../formulas/valueFormulas.ts';
import type { MetricDataResult, MetricSelection, TimeRange } from '../upstreamReader.ts';
import type { RollingSummary, RollingValues } from '../types.ts';

export const NO_SUMMARY: RollingSummary = Object.freeze({
  responseTime: undefined,
  requestRate: undefined,
  errorRate: undefined,
  apdexTarget: undefined,
  apdexScore: undefined,
  hostCount: undefined,
  instanceCount: undefined,
  concurrentInstanceCount: undefined,
});

const NO_CALLS: MetricRow = { c: 0, t: 0, x: 0, mn: undefined, mx: undefined, q: undefined };

/** Calculates the requested values of metrics from the rows of applications or hosts. */
export class ValueMapper {
  readonly #names: readonly string[];
  /** The requested values of a metric; undefined: all. */
  readonly #wanted: MetricSelection['values'];
  readonly #formulas = new Map<string, readonly (readonly [value: string, formula: Formula])[]>();
  /** True if one of the values needs the sum of squares. */
  readonly needsSquares: boolean;

  /** @param names the requested metrics; datastore metrics are taken from the rows */
  constructor(names: readonly string[], wanted?: MetricSelection['values']) {
    this.#names = names;
    this.#wanted = wanted;
    this.needsSquares = names.some((name) => this.#formulasOf(name).some(([value]) => NEED_SQUARES.has(value)));
  }

  /**
   * The metric data of an application or host from its rows over one window, as a summarized response of REST has it.
   *
   * NerdGraph returns no row where nothing happened, so `HttpDispatcher`, `OtherTransaction/all` and `Errors/all` without a row
   * are 0 if there is any other row. Any other metric without a row is absent.
   */
  resultOf(rows: MetricRows, window: TimeRange): MetricDataResult {
    const metrics = new Map<string, Readonly<Record<string, number>>>();
    const seconds = window.to - window.from;
    for (const name of this.#names) {
      const row = rows.get(name) ?? (rows.size > 0 && ZERO_WITHOUT_ROW.includes(name) ? NO_CALLS : undefined);
      if (row !== undefined) metrics.set(name, this.valuesOf(name, row, rows, seconds));
    }
    const datastores: string[] = [];
    for (const [name, row] of rows) {
      if (!isDatastore(name)) continue;
      datastores.push(name);
      if (!metrics.has(name)) metrics.set(name, this.valuesOf(name, row, rows, seconds));
    }
    return { window, metrics, datastores: datastores.sort() };
  }

  /** The requested values of a metric. Only finite numbers are values; unknown values are absent. */
  valuesOf(name: string, row: MetricRow, rows: MetricRows, seconds: number): Readonly<Record<string, number>> {
    const about = { name, seconds, rows };
    const values: Record<string, number> = {};
    for (const [each, formula] of this.#formulasOf(name)) {
      const value = formula(row, about);
      if (value !== undefined && Number.isFinite(value)) values[each] = value;
    }
    return values;
  }

  #formulasOf(name: string): readonly (readonly [value: string, formula: Formula])[] {
    let list = this.#formulas.get(name);
    if (list === undefined) {
      const formulas = VALUES[kindOf(name)];
      list = (this.#wanted?.(name) ?? [...formulas.keys()]).flatMap((value) => {
        const formula = formulas.get(value);
        return formula === undefined ? [] : [[value, formula] as const];
      });
      this.#formulas.set(name, list);
    }
    return list;
  }
}

/**
 * The rolling values of an application or a host from its rows over the last minutes. A value is absent without rows, or where its denominator is 0. The Apdex target of an application comes with the list.
 */
export function rollingOf(rows: MetricRows, seconds: number): RollingValues {
  const reports = rows.size > 0;
  const count = (name: string): number | undefined => rows.get(name)?.c ?? (reports ? 0 : undefined);
  const web = count(METRIC.web);
  const errors = count(METRIC.errors);
  const summary: RollingSummary = {
    ...NO_SUMMARY,
    responseTime: ratio(rows.get(METRIC.web)?.t ?? 0, web),
    requestRate: ratio(web, seconds),
    errorRate: ratio(errors, (web ?? 0) + (count(METRIC.nonWeb) ?? 0)),
    apdexScore: scoreOf(rows.get(METRIC.apdex)),
  };
  const views = rows.get(METRIC.endUser);
  const verdicts = rows.get(METRIC.endUserApdex);
  if (views === undefined && verdicts === undefined) return { summary, endUserSummary: undefined };
  return {
    summary,
    endUserSummary: {
      ...NO_SUMMARY,
      responseTime: ratio(views?.t, views?.c),
      requestRate: ratio(views?.c, seconds),
      apdexTarget: verdicts?.mx,
      apdexScore: scoreOf(verdicts),
    },
  };
}

/**
 * The rolling values of a key transaction, from the metrics of its entity and the Apdex metric of its transaction in the owning
 * application.
 *
 * @param reports true if the owning application has rows, so that a missing `row` means no requests
 */
export function keyTransactionOf(
  row: MetricRow | undefined,
  apdex: MetricRow | undefined,
  reports: boolean,
  seconds: number,
): RollingValues {
  const count = row?.c ?? (reports ? 0 : undefined);
  const summary: RollingSummary = {
    ...NO_SUMMARY,
    responseTime: ratio(row?.t ?? 0, count),
    requestRate: ratio(count, seconds),
    errorRate: ratio(row?.x, row?.c),
    apdexScore: row === undefined ? undefined : scoreOf(apdex),
  };
  return { summary, endUserSummary: undefined };
}

function scoreOf(row: MetricRow | undefined): number | undefined {
  if (row?.x === undefined) return undefined;
  return ratio(row.c + row.t / 2, row.c + row.t + row.x);
}

/** Undefined without data, for a whole that is not positive, and for a result that is not finite. */
function ratio(part: number | undefined, whole: number | undefined): number | undefined {
  if (part === undefined || whole === undefined || whole <= 0) return undefined;
  const result = part / whole;
  return Number.isFinite(result) ? result : undefined;
}

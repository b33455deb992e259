import type { Scope } from '../world/scope.ts';
import { firstIncompleteMinute, MINUTE } from '../world/time.ts';
import { valuesOf } from '../world/values.ts';
import type { World } from '../world/world.ts';
import type { DataRange } from './range.ts';
import { roundFigures } from './rounding.ts';
import { formatTimestamp } from './timestamp.ts';

export interface MetricDataQuery {
  readonly names: readonly string[];
  /** Empty: all values of each metric. */
  readonly values: readonly string[];
  readonly range: DataRange;
  readonly rounded: boolean;
  /** Timeslices end with their last second rather than with the minute after it. */
  readonly inclusiveTo: boolean;
}

interface TimesliceBody {
  readonly from: string;
  readonly to: string;
  readonly values: Readonly<Record<string, number>>;
}

export interface MetricDataBody {
  readonly from: string;
  readonly to: string;
  readonly metrics_not_found: readonly string[];
  readonly metrics_found: readonly string[];
  readonly metrics: readonly { readonly name: string; readonly timeslices: readonly TimesliceBody[] }[];
}

/** Names that the service takes for another. */
const OTHER_SPELLINGS: ReadonlyMap<string, string> = new Map([['EndUserApdex', 'EndUser/Apdex']]);
const RETENTION_MINUTES = 93 * 24 * 60;

/**
 * The `metric_data` of a call. A metric is found when anything was reported of it in the range; its
 * timeslices without a record are zeros. Minutes that are not complete, or older than three months, have no data, and
 * a timeslice of nothing but such minutes is left out.
 */
export function metricData(world: World, scope: Scope, query: MetricDataQuery, now: number): MetricDataBody {
  const names = [...new Set(query.names.map((name) => OTHER_SPELLINGS.get(name) ?? name))];
  const metrics = names.map((name) => world.metric(scope, name)).filter((metric) => metric !== undefined);
  const end = firstIncompleteMinute(now);
  const spans = query.range.spans.flatMap((span) => {
    const from = Math.max(span.from, end - RETENTION_MINUTES);
    const to = Math.min(span.to, end);
    return to <= from ? [] : [{ span, minutes: to - from, sums: world.sum(scope, metrics, from, to) }];
  });

  const found = metrics
    .map((metric, index) => ({ metric, index }))
    .filter(({ index }) => spans.some(({ sums }) => sums[index]?.reported === true));
  const foundNames = new Set(found.map(({ metric }) => metric.name));
  return {
    from: formatTimestamp(query.range.from),
    to: formatTimestamp(query.range.to),
    metrics_not_found: names.filter((name) => !foundNames.has(name)),
    metrics_found: [...foundNames],
    metrics: found.map(({ metric, index }) => ({
      name: metric.name,
      timeslices: spans.flatMap(({ span, minutes, sums }) => {
        const sum = sums[index];
        if (sum === undefined) return [];
        const values = valuesOf(metric.kind, sum, minutes, query.values);
        return [
          {
            from: formatTimestamp(span.from * MINUTE),
            to: formatTimestamp(span.to * MINUTE - (query.inclusiveTo ? 1000 : 0)),
            values: query.rounded ? roundFigures(values) : values,
          },
        ];
      }),
    })),
  };
}

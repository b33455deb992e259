import { z } from 'zod';
import { CallFailure } from '../callFailure.ts';
import { isObject } from '../errorTitle.ts';
import { parseTime } from '../timestamps.ts';
import type { MetricData, Timeslice } from '../types.ts';
import type { LeftOut } from './leftOut.ts';

const envelope = z.object({
  metric_data: z.object({ metrics: z.array(z.unknown()), metrics_found: z.unknown().optional() }),
});

/** Counts, rates and Apdex figures; the values of custom metrics may be anything. */
const NEVER_NEGATIVE = new Set(
  ['call_count', 'count', 'error_count', 's', 't', 'f', 'score', 'threshold', 'threshold_min'].concat(
    ['calls_per_minute', 'requests_per_minute', 'errors_per_minute', 'average_response_time', 'average_call_time'],
    ['percent', 'used_mb_by_host', 'total_used_mb'],
  ),
);
const FREE_METRICS = 'Custom/';

/**
 * The timeslices of an answer (api-facts 4.1), oldest first. Checked by hand in one pass: this is the most frequent
 * answer by far, and its size is that of the account. Throws a CallFailure without the envelope, or when no metric of the
 * answer can be read.
 *
 * A metric that was answered with nothing usable has one timeslice over the range asked for without values: calculations
 * tell "not answered" (`Errors/all`: no errors) from "not known".
 *
 * @param range what was asked for, Unix seconds
 */
export function parseMetricData(
  body: unknown,
  range: { readonly from: number; readonly to: number },
  leftOut: LeftOut,
): MetricData {
  const { data: { metric_data: data } = {} } = envelope.safeParse(body);
  if (data === undefined) throw new CallFailure('invalid_response', 'the answer has no "metric_data" with "metrics"');
  const metrics = new Map<string, readonly Timeslice[]>();
  for (const metric of data.metrics) {
    if (
      !isObject(metric) ||
      typeof metric['name'] !== 'string' ||
      metric['name'] === '' ||
      metrics.has(metric['name'])
    ) {
      leftOut.record('metrics');
      continue;
    }
    metrics.set(
      metric['name'],
      parseTimeslices(metric['timeslices'], !metric['name'].startsWith(FREE_METRICS), leftOut),
    );
  }
  if (data.metrics.length > 0 && metrics.size === 0) {
    throw new CallFailure('invalid_response', `none of the ${data.metrics.length} metrics of the answer can be read`);
  }
  const answered: readonly unknown[] = Array.isArray(data.metrics_found) ? data.metrics_found : [];
  for (const name of [...metrics.keys(), ...answered]) {
    if (typeof name === 'string' && !metrics.get(name)?.length) metrics.set(name, [{ ...range, values: {} }]);
  }
  return metrics;
}

function parseTimeslices(timeslices: unknown, known: boolean, leftOut: LeftOut): readonly Timeslice[] {
  if (!Array.isArray(timeslices)) {
    leftOut.value('metrics.timeslices');
    return [];
  }
  const parsed: Timeslice[] = [];
  for (const timeslice of timeslices as readonly unknown[]) {
    const read = parseTimeslice(timeslice, known, leftOut);
    if (read === undefined) leftOut.value('metrics.timeslices');
    else parsed.push(read);
  }
  return parsed.sort((a, b) => a.from - b.from);
}

function parseTimeslice(timeslice: unknown, known: boolean, leftOut: LeftOut): Timeslice | undefined {
  if (!isObject(timeslice)) return undefined;
  const { from, to, values } = timeslice;
  const start = typeof from === 'string' ? parseTime(from) : undefined;
  const end = typeof to === 'string' ? parseTime(to) : undefined;
  if (start === undefined || end === undefined || end <= start || !isObject(values)) return undefined;
  return { from: start, to: end, values: parseValues(values, known, leftOut) };
}

/** Names come from outside: an object without prototype has no member that was not answered, `constructor` neither. */
function parseValues(
  values: Readonly<Record<string, unknown>>,
  known: boolean,
  leftOut: LeftOut,
): Record<string, number> {
  const parsed = Object.create(null) as Record<string, number>;
  for (const name of Object.keys(values)) {
    const value = values[name];
    const usable =
      typeof value === 'number' && Number.isFinite(value) && (value >= 0 || !known || !NEVER_NEGATIVE.has(name));
    if (usable) parsed[name] = value;
    else leftOut.value('metrics.timeslices.values');
  }
  return parsed;
}

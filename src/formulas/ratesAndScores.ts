import { finite, type Values } from './metricInputs.ts';

/** A count in a window of `seconds` as a rate per second; absent where the count is absent. */
export function perSecond(count: number | undefined, seconds: number): number | undefined {
  return count === undefined ? undefined : finite(count / seconds);
}

/** Requests per second; from the exact call count where New Relic rounded the rate to 0, or does not give it. */
export function requestRate(
  requests: Values<'requests_per_minute' | 'call_count'> | undefined,
  seconds: number,
): number | undefined {
  const rate = requests?.requests_per_minute;
  const calls = requests?.call_count;
  const roundedAway = rate === 0 && calls !== undefined && calls > 0;
  return rate === undefined || roundedAway ? perSecond(calls, seconds) : rate / 60;
}

/** The error and request metrics of a window; undefined: the metric is not in the response. */
interface ErrorInputs {
  readonly scope: 'application' | 'host';
  /** `Errors/all`. */
  readonly errors: Values<'error_count'> | undefined;
  /** `HttpDispatcher`. */
  readonly web: Values<'call_count'> | undefined;
  /** `OtherTransaction/all`. */
  readonly nonWeb: Values<'call_count'> | undefined;
}

/**
 * Errors per request, web requests and background transactions together (New Relic's error rate, as a ratio). An absent request
 * metric counts as 0; an unreadable one leaves the ratio absent. Absent without requests.
 */
export function errorRatio(inputs: ErrorInputs): number | undefined {
  const errors = errorCount(inputs);
  const unreadable = [inputs.web, inputs.nonWeb].some(
    (metric) => metric !== undefined && metric.call_count === undefined,
  );
  const requests = requestCount(inputs);
  return errors === undefined || unreadable || requests <= 0 ? undefined : finite(errors / requests);
}

/** Errors per second over the window. */
export function errorsPerSecond(inputs: ErrorInputs, seconds: number): number | undefined {
  return perSecond(errorCount(inputs), seconds);
}

/**
 * The errors of the window. An application without `Errors/all` recorded none while it had requests. A host may not have the
 * metric, so for a host the count is unknown.
 */
function errorCount(inputs: ErrorInputs): number | undefined {
  if (inputs.errors !== undefined) return inputs.errors.error_count;
  return inputs.scope === 'application' && requestCount(inputs) > 0 ? 0 : undefined;
}

/** The requests of the window, as far as they are known. */
function requestCount({ web, nonWeb }: ErrorInputs): number {
  return (web?.call_count ?? 0) + (nonWeb?.call_count ?? 0);
}

/**
 * The Apdex score; absent with 0 requests. The sum of the zones replaces an absent count. Where both are unknown, a score of 0
 * is absent, because it may be the score of 0 requests.
 *
 * @param apdex `Apdex` or `EndUser/Apdex`: the score from 0 to 1, and how many requests were satisfied, tolerating, frustrated
 */
export function apdexScore(apdex: Values<'score' | 'count' | 's' | 't' | 'f'> = {}): number | undefined {
  const { score, s, t, f } = apdex;
  const zones = s === undefined || t === undefined || f === undefined ? undefined : s + t + f;
  const count = apdex.count ?? zones;
  if (count === undefined) return score === 0 ? undefined : score;
  return count > 0 ? score : undefined;
}

/** Bytes of a `Memory/Physical` value: New Relic's megabytes are 1024² bytes. */
export function memoryBytes(megabytes: number | undefined): number | undefined {
  return megabytes === undefined ? undefined : finite(megabytes * 1_048_576);
}

/** CPU time per wall clock time, from `CPU/User Time:percent`; above 1 with several processes. */
export function cpuRatio(percent: number | undefined): number | undefined {
  return percent === undefined ? undefined : percent / 100;
}

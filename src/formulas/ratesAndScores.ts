import type { Columns } from './metricInputs.ts';

// The results are NaN or infinite where they are absent: such samples are left out.

/** Calls per second; from their exact count unless New Relic states a rate. */
export function callRate({ count = NaN, rate }: Columns = {}, seconds: number): number {
  return rate ?? count / seconds;
}

/** The error and request metrics of a window; undefined: the metric is not in the response. */
interface ErrorInputs {
  readonly scope: 'application' | 'host';
  readonly errors: Columns | undefined;
  readonly web: Columns | undefined;
  readonly nonWeb: Columns | undefined;
}

/**
 * Errors per request, web requests and background transactions together (New Relic's error rate, as a ratio). An absent request
 * metric counts as 0; an unreadable one leaves the ratio absent. Absent without requests.
 */
export function errorRatio(inputs: ErrorInputs): number {
  const requests = requestCount(inputs, NaN);
  return requests > 0 ? errorCount(inputs) / requests : NaN;
}

/** Errors per second over the window. */
export function errorsPerSecond(inputs: ErrorInputs, seconds: number): number {
  return errorCount(inputs) / seconds;
}

/**
 * The errors of the window. An application without `Errors/all` recorded none while it had requests. A host may not have the
 * metric, so for a host the count is unknown.
 */
function errorCount(inputs: ErrorInputs): number {
  if (inputs.errors !== undefined) return inputs.errors.count ?? NaN;
  return inputs.scope === 'application' && requestCount(inputs, 0) > 0 ? 0 : NaN;
}

/** The requests of the window, with a number in place of an unreadable one. */
function requestCount({ web, nonWeb }: ErrorInputs, unreadable: number): number {
  const countOf = (metric: Columns | undefined): number => (metric === undefined ? 0 : (metric.count ?? unreadable));
  return countOf(web) + countOf(nonWeb);
}

/** The score of `Apdex` or `EndUser/Apdex`, from 0 to 1; absent without requests. */
export function apdexScore({ count = NaN, sum = NaN, exclusive = NaN, score }: Columns = {}): number {
  return score ?? (count + sum / 2) / (count + sum + exclusive);
}

/**
 * The memory of all processes: the mean of a process times their number. Agents sample their memory several times a minute
 * and report once, so a sum of the samples would count each process many times. The result of the REST interface over several
 * minutes is not documented; New Relic's own pages calculate like this.
 *
 * @param signs `SIGN_OF_LIFE`
 */
export function memoryOfAll(memory: Columns | undefined, signs: Columns | undefined, seconds: number): number {
  return memory?.memory ?? (memoryOfProcess(memory) * 60 * (signs?.count ?? NaN)) / seconds;
}

export function memoryOfProcess({ count = NaN, sum = NaN, processMemory }: Columns = {}): number {
  return processMemory ?? sum / count;
}

import { finite } from './inputs.ts';
import type { MetricWindow, Values } from './inputs.ts';
import { perSecond } from './rates.ts';

/** What upstream answered about errors and requests in a window; undefined: it has no such metric. */
export interface ErrorInputs {
  readonly scope: 'application' | 'host';
  /** `Errors/all`. */
  readonly errors: MetricWindow<'error_count'> | undefined;
  /** `HttpDispatcher`. */
  readonly web: MetricWindow<'call_count'> | undefined;
  /** `OtherTransaction/all`. */
  readonly nonWeb: MetricWindow<'call_count'> | undefined;
}

/**
 * Errors per request, web requests and background transactions together (the vendor's error rate, as a ratio). A metric of
 * requests that is absent counts 0; one that cannot be read leaves the ratio absent. Absent without requests.
 */
export function errorRatio(inputs: ErrorInputs): number | undefined {
  const errors = errorCount(inputs);
  const unreadable = [inputs.web, inputs.nonWeb].some(
    (window) => window !== undefined && callsOf(window) === undefined,
  );
  const requests = requestCount(inputs);
  return errors === undefined || unreadable || requests <= 0 ? undefined : finite(errors / requests);
}

/** Errors per second over the window. */
export function errorsPerSecond(inputs: ErrorInputs): number | undefined {
  return perSecond(errorCount(inputs), (inputs.errors ?? inputs.web ?? inputs.nonWeb)?.seconds);
}

/**
 * The errors of the window. An application without `Errors/all` recorded none while it had requests; a host may not have
 * the metric at all, so nothing is known.
 */
function errorCount(inputs: ErrorInputs): number | undefined {
  if (inputs.errors !== undefined) return inputs.errors.values.error_count;
  return inputs.scope === 'application' && requestCount(inputs) > 0 ? 0 : undefined;
}

/** The requests of the window as far as they are known. */
function requestCount({ web, nonWeb }: ErrorInputs): number {
  return (callsOf(web) ?? 0) + (callsOf(nonWeb) ?? 0);
}

function callsOf(window: { readonly values: Values<'call_count'> } | undefined): number | undefined {
  return window?.values.call_count;
}

import { type SimulatedKeyTransaction, firstIncompleteMinute, isReporting, MINUTE } from './worldEntities.ts';
import type { WorldScope, World } from './world.ts';
import { apdexScore, EMPTY, ratio } from './timesliceValues.ts';

/** Averages over the last minutes: milliseconds (browser: seconds), calls per minute, error ratio and score from 0 to 1. */
export type RollingFigures = Readonly<Record<'response_time' | 'throughput' | 'error_rate' | 'apdex_score', number>>;

/** The metrics of calls, errors and Apdex for each kind of figures: of all transactions, or of the one with this name. */
const METRICS = {
  web: (name?: string) =>
    name === undefined
      ? ['HttpDispatcher', 'Errors/allWeb', 'Apdex']
      : [`WebTransaction/${name}`, `Errors/WebTransaction/${name}`, `Apdex/${name}`],
  background: () => ['OtherTransaction/all'],
  browser: (name?: string) =>
    ['EndUser', undefined, 'EndUser/Apdex'].map((metric) => metric && [metric, name ?? []].flat().join('/')),
};

/** The figures of a range of minutes from the data that can be read at `now`: 0 for missing metrics, undefined without page views. */
function rolling(
  world: World,
  scope: WorldScope,
  of: keyof typeof METRICS,
  names: readonly (string | undefined)[],
  [from, to]: readonly [from: number, to: number],
  now: number,
): RollingFigures | undefined {
  const metrics = names.map((name) => (name === undefined ? undefined : world.metric(scope, name)));
  if (of === 'browser' && metrics[0] === undefined) return undefined;
  const known = metrics.filter((metric) => metric !== undefined);
  const sums = world.sum(scope, known, from, to, now);
  const [calls = EMPTY, errors = EMPTY, apdex = EMPTY] = metrics.map(
    (metric) => sums[metric === undefined ? -1 : known.indexOf(metric)],
  );
  return {
    response_time: (of === 'browser' ? 1 : 1000) * ratio(calls.total, calls.count),
    throughput: ratio(calls.count, to - from),
    error_rate: ratio(errors.count, calls.count),
    apdex_score: apdexScore(apdex),
  };
}

/**
 * The figures of an application, host or instance over the complete minutes among the last four. `of` chooses web transactions,
 * background transactions or page views. Undefined when the application does not report, or has no browser data.
 */
export function rollingSummary(
  world: World,
  scope: WorldScope,
  now: number,
  of: keyof typeof METRICS = 'web',
  minutes = 4,
): RollingFigures | undefined {
  if (!isReporting(scope.application, now)) return undefined;
  // The last four minutes contain four complete ones only on the full minute, otherwise three.
  const since = minutes > 4 ? firstIncompleteMinute(now) - minutes : Math.ceil(now / MINUTE - minutes);
  return rolling(world, scope, of, METRICS[of](), [since, firstIncompleteMinute(now)], now);
}

/** The figures of a key transaction over ten complete minutes: 0 when idle, undefined when not reporting or without page views. */
export function keyTransactionSummary(
  world: World,
  key: SimulatedKeyTransaction,
  now: number,
  of: 'web' | 'browser' = 'web',
  minutes = 10,
): RollingFigures | undefined {
  if (!keyTransactionReports(key, now)) return undefined;
  const { transaction, application } = key.source;
  const names = key.state === 'idle' ? [] : METRICS[of](transaction);
  const end = firstIncompleteMinute(now);
  return rolling(world, world.whole(application), of, names, [end - minutes, end], now);
}

/** A key transaction reports as long as the application of its figures does. */
export function keyTransactionReports({ state, source }: SimulatedKeyTransaction, now: number): boolean {
  return state !== 'silent' && isReporting(source.application, now);
}

/** Red and orange follow failing requests and Apdex. Without an alert policy the status is unknown. */
export function health(
  reporting: boolean,
  hasPolicy: boolean,
  figures: RollingFigures | undefined,
): 'gray' | 'unknown' | 'green' | 'orange' | 'red' {
  if (!reporting) return 'gray';
  if (!hasPolicy) return 'unknown';
  if (figures === undefined || figures.throughput === 0) return 'green';
  if (figures.error_rate > 0.15 || figures.apdex_score < 0.5) return 'red';
  return figures.error_rate > 0.05 || figures.apdex_score < 0.7 ? 'orange' : 'green';
}

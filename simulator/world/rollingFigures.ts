import { type SimulatedKeyTransaction, firstIncompleteMinute, isReporting, MINUTE } from './worldEntities.ts';
import type { WorldScope, World } from './world.ts';
import { apdexScore, EMPTY, ratio } from './timesliceValues.ts';

/** Averages: milliseconds (browser: seconds), calls per minute, error ratio and score from 0 to 1. */
export type RollingFigures = Readonly<Record<'response_time' | 'throughput' | 'error_rate' | 'apdex_score', number>>;

/** The metrics of calls, errors and Apdex by kind of figures: of all transactions, or of one transaction by name. */
const METRICS = {
  web: (name?: string) =>
    name === undefined
      ? ['HttpDispatcher', 'Errors/allWeb', 'Apdex']
      : [`WebTransaction/${name}`, `Errors/WebTransaction/${name}`, `Apdex/${name}`],
  background: () => ['OtherTransaction/all'],
  browser: (name?: string) =>
    ['EndUser', undefined, 'EndUser/Apdex'].map((metric) => metric && [metric, name ?? []].flat().join('/')),
};

/** Calculates figures from the data available at `now`: 0 for missing metrics, undefined without page views. */
function calculateFigures(
  world: World,
  scope: WorldScope,
  kind: keyof typeof METRICS,
  names: readonly (string | undefined)[],
  [from, to]: readonly [from: number, to: number],
  now: number,
): RollingFigures | undefined {
  const metrics = names.map((name) => (name === undefined ? undefined : world.metric(scope, name)));
  if (kind === 'browser' && metrics[0] === undefined) return undefined;
  const known = metrics.filter((metric) => metric !== undefined);
  const sums = world.sum(scope, known, from, to, now);
  const [calls = EMPTY, errors = EMPTY, apdex = EMPTY] = metrics.map(
    (metric) => sums[metric === undefined ? -1 : known.indexOf(metric)],
  );
  return {
    response_time: (kind === 'browser' ? 1 : 1000) * ratio(calls.total, calls.count),
    throughput: ratio(calls.count, to - from),
    error_rate: ratio(errors.count, calls.count),
    apdex_score: apdexScore(apdex),
  };
}

/**
 * Returns the figures of an application, host or instance over the complete minutes among the last four. Undefined if
 * the application does not report, or has no browser data.
 */
export function rollingSummary(
  world: World,
  scope: WorldScope,
  now: number,
  kind: keyof typeof METRICS = 'web',
  minutes = 4,
): RollingFigures | undefined {
  if (!isReporting(scope.application, now)) return undefined;
  // The last four minutes contain four complete ones only on the full minute, otherwise three.
  const since = minutes > 4 ? firstIncompleteMinute(now) - minutes : Math.ceil(now / MINUTE - minutes);
  return calculateFigures(world, scope, kind, METRICS[kind](), [since, firstIncompleteMinute(now)], now);
}

/** Returns the figures of a key transaction over ten minutes: 0 if idle, undefined if silent or without page views. */
export function keyTransactionSummary(
  world: World,
  key: SimulatedKeyTransaction,
  now: number,
  kind: 'web' | 'browser' = 'web',
  minutes = 10,
): RollingFigures | undefined {
  if (!keyTransactionReports(key, now)) return undefined;
  const { transaction, application } = key.source;
  const names = key.state === 'idle' ? [] : METRICS[kind](transaction);
  const end = firstIncompleteMinute(now);
  return calculateFigures(world, world.whole(application), kind, names, [end - minutes, end], now);
}

/** True while the application reports that has the figures of the key transaction. */
export function keyTransactionReports({ state, source }: SimulatedKeyTransaction, now: number): boolean {
  return state !== 'silent' && isReporting(source.application, now);
}

/** Returns red or orange by error ratio and Apdex score; unknown without an alert policy. */
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

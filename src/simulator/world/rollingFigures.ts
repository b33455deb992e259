import { type SimulatedKeyTransaction, firstIncompleteMinute, isReporting, MINUTE } from './worldEntities.ts';
import type { WorldScope, World } from './world.ts';
import { EMPTY, ratio } from './timesliceValues.ts';

/** Rolling figures: milliseconds (browser: seconds), per minute, fraction, 0 to 1. */
export interface RollingFigures {
  readonly response_time: number;
  readonly throughput: number;
  readonly error_rate: number;
  readonly apdex_score: number;
}

/** The figures of some minutes by the metrics of calls, errors and Apdex: zeros of one that the application does not have. */
function rolling(
  world: World,
  scope: WorldScope,
  names: readonly (string | undefined)[],
  [from, to]: readonly [from: number, to: number],
  unit = 1000,
): RollingFigures {
  const metrics = names.map((name) => (name === undefined ? undefined : world.metric(scope, name)));
  const known = metrics.filter((metric) => metric !== undefined);
  const sums = world.sum(scope, known, from, to);
  const [calls = EMPTY, errors = EMPTY, apdex = EMPTY] = metrics.map(
    (metric) => sums[metric === undefined ? -1 : known.indexOf(metric)],
  );
  return {
    response_time: unit * ratio(calls.total, calls.count),
    throughput: ratio(calls.count, to - from),
    error_rate: ratio(errors.count, calls.count),
    apdex_score: ratio(apdex.count + apdex.total / 2, apdex.count + apdex.total + apdex.totalExclusive),
  };
}

/** An application, host or instance over the complete minutes among the last four; undefined when it does not report. */
function applicationRolling(
  world: World,
  scope: WorldScope,
  now: number,
  names: readonly (string | undefined)[],
  unit?: number,
): RollingFigures | undefined {
  if (!isReporting(scope.application, now)) return undefined;
  // Four on the minute, three after it.
  return rolling(world, scope, names, [Math.ceil(now / MINUTE - 4), firstIncompleteMinute(now)], unit);
}

/** Web transactions of an application, host or instance over the last three to four minutes. */
export function rollingSummary(world: World, scope: WorldScope, now: number): RollingFigures | undefined {
  return applicationRolling(world, scope, now, ['HttpDispatcher', 'Errors/allWeb', 'Apdex']);
}

/** Background transactions over the same minutes; zeros without any. */
export function backgroundSummary(world: World, scope: WorldScope, now: number): RollingFigures | undefined {
  return applicationRolling(world, scope, now, ['OtherTransaction/all']);
}

/** Page views over the last three to four minutes; undefined without browser data. Response time in seconds. */
export function rollingEndUserSummary(world: World, scope: WorldScope, now: number): RollingFigures | undefined {
  if (world.metric(scope, 'EndUser') === undefined) return undefined;
  return applicationRolling(world, scope, now, ['EndUser', undefined, 'EndUser/Apdex'], 1);
}

/** The last ten complete minutes. */
const lastTen = (now: number) => [firstIncompleteMinute(now) - 10, firstIncompleteMinute(now)] as const;

/** A key transaction over the last ten complete minutes; zeros when idle, undefined when it does not report. */
export function keyTransactionSummary(
  world: World,
  key: SimulatedKeyTransaction,
  now: number,
): RollingFigures | undefined {
  const { transaction, application } = key.source;
  if (!keyTransactionReports(key, now)) return undefined;
  const names = [`WebTransaction/${transaction}`, `Errors/WebTransaction/${transaction}`, `Apdex/${transaction}`];
  return rolling(world, world.whole(application), key.state === 'idle' ? [] : names, lastTen(now));
}

/** Page views of a key transaction over the last ten complete minutes. Response time in seconds. */
export function keyTransactionEndUserSummary(
  world: World,
  key: SimulatedKeyTransaction,
  now: number,
): RollingFigures | undefined {
  const { transaction, application } = key.source;
  const scope = world.whole(application);
  if (!keyTransactionReports(key, now) || key.state === 'idle') return undefined;
  if (world.metric(scope, `EndUser/${transaction}`) === undefined) return undefined;
  const names = [`EndUser/${transaction}`, undefined, `EndUser/Apdex/${transaction}`];
  return rolling(world, scope, names, lastTen(now), 1);
}

/** A key transaction reports as long as the application it takes its figures from does. */
export function keyTransactionReports({ state, source }: SimulatedKeyTransaction, now: number): boolean {
  return state !== 'silent' && isReporting(source.application, now);
}

/** Red and orange go by what users notice: failing requests and Apdex. Without an alert policy nothing is judged. */
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

import { type SimulatedKeyTransaction, firstIncompleteMinute, isReporting, MINUTE } from './worldEntities.ts';
import type { WorldScope, World } from './world.ts';
import { EMPTY, type StoredTimeslice } from './timesliceValues.ts';

/** Rolling figures: milliseconds (browser: seconds), per minute, fraction, 0 to 1. */
export interface RollingFigures {
  readonly response_time: number;
  readonly throughput: number;
  readonly error_rate: number;
  readonly apdex_score: number;
}

const APPLICATION_WINDOW = 4 * MINUTE;
const KEY_TRANSACTION_MINUTES = 10;

const ratio = (numerator: number, denominator: number): number => (denominator === 0 ? 0 : numerator / denominator);

function figures(
  minutes: number,
  unit: number,
  calls: StoredTimeslice,
  errors: number,
  apdex: StoredTimeslice,
): RollingFigures {
  return {
    response_time: unit * ratio(calls.total, calls.count),
    throughput: ratio(calls.count, minutes),
    error_rate: ratio(errors, calls.count),
    apdex_score: ratio(apdex.count + apdex.total / 2, apdex.count + apdex.total + apdex.totalExclusive),
  };
}

/** The sums of these metrics, in this order; nothing for one that the application does not have. */
function sums(
  world: World,
  scope: WorldScope,
  names: readonly string[],
  from: number,
  to: number,
): readonly StoredTimeslice[] {
  const metrics = names.map((name) => world.metric(scope, name)).filter((metric) => metric !== undefined);
  const added = world.sum(scope, metrics, from, to);
  return names.map((name) => added[metrics.findIndex((metric) => metric.name === name)] ?? EMPTY);
}

function rolling(
  world: World,
  scope: WorldScope,
  names: readonly [calls: string, errors: string, apdex: string],
  from: number,
  to: number,
  unit = 1000,
): RollingFigures {
  const [calls = EMPTY, errors = EMPTY, apdex = EMPTY] = sums(world, scope, names, from, to);
  return figures(to - from, unit, calls, errors.count, apdex);
}

/** The complete minutes among the last four: four on the minute, three after it. */
function rollingWindow(now: number): readonly [from: number, to: number] {
  return [Math.ceil((now - APPLICATION_WINDOW) / MINUTE), firstIncompleteMinute(now)];
}

/** Web transactions of an application, host or instance over the last three to four minutes. */
export function rollingSummary(world: World, scope: WorldScope, now: number): RollingFigures | undefined {
  if (!isReporting(scope.application, now)) return undefined;
  const [from, to] = rollingWindow(now);
  return rolling(world, scope, ['HttpDispatcher', 'Errors/allWeb', 'Apdex'], from, to);
}

/** Background transactions over the same minutes; zeros without any. */
export function backgroundSummary(world: World, scope: WorldScope, now: number): RollingFigures | undefined {
  if (!isReporting(scope.application, now)) return undefined;
  const [from, to] = rollingWindow(now);
  return rolling(world, scope, ['OtherTransaction/all', '', ''], from, to);
}

/** Page views over the last three to four minutes; undefined without browser data. Response time in seconds. */
export function rollingEndUserSummary(world: World, scope: WorldScope, now: number): RollingFigures | undefined {
  if (!isReporting(scope.application, now) || world.metric(scope, 'EndUser') === undefined) return undefined;
  const [from, to] = rollingWindow(now);
  return rolling(world, scope, ['EndUser', '', 'EndUser/Apdex'], from, to, 1);
}

/** A key transaction over the last ten complete minutes; zeros when idle, undefined when it does not report. */
export function keyTransactionSummary(
  world: World,
  key: SimulatedKeyTransaction,
  now: number,
): RollingFigures | undefined {
  const scope = world.scope({ application: key.source.applicationId });
  if (!keyTransactionReports(world, key, now) || scope === undefined) return undefined;
  if (key.state === 'idle') return figures(KEY_TRANSACTION_MINUTES, 1000, EMPTY, 0, EMPTY);
  const to = firstIncompleteMinute(now);
  const { transaction } = key.source;
  const names = [
    `WebTransaction/${transaction}`,
    `Errors/WebTransaction/${transaction}`,
    `Apdex/${transaction}`,
  ] as const;
  return rolling(world, scope, names, to - KEY_TRANSACTION_MINUTES, to);
}

/** Page views of a key transaction over the last ten complete minutes. Response time in seconds. */
export function keyTransactionEndUserSummary(
  world: World,
  key: SimulatedKeyTransaction,
  now: number,
): RollingFigures | undefined {
  const scope = world.scope({ application: key.source.applicationId });
  const name = `EndUser/${key.source.transaction}`;
  if (!keyTransactionReports(world, key, now) || key.state === 'idle' || scope === undefined) return undefined;
  if (world.metric(scope, name) === undefined) return undefined;
  const to = firstIncompleteMinute(now);
  const names = [name, '', `EndUser/Apdex/${key.source.transaction}`] as const;
  return rolling(world, scope, names, to - KEY_TRANSACTION_MINUTES, to, 1);
}

/** A key transaction reports as long as the application it takes its figures from does. */
export function keyTransactionReports(world: World, key: SimulatedKeyTransaction, now: number): boolean {
  const application = world.application(key.source.applicationId);
  return key.state !== 'silent' && application !== undefined && isReporting(application, now);
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

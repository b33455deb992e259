import { GROUPS, type Group } from '../metrics/groups.ts';
import type { AccountCollector } from './account.ts';
import { unitState, type AnswerTime } from './answer.ts';
import { effectiveInterval } from './due.ts';
import { unitsOf } from './records.ts';
import { coversApplication, isEnabled, neededGroups } from './scope.ts';
import type { Unit } from './unit.ts';
import type {
  AccountStatus,
  ApplicationList,
  ApplicationView,
  EntityState,
  EntityStatus,
  GroupStatus,
  Scope,
} from './view.ts';
import { warningsOf } from './warnings.ts';

type Counts = Record<EntityState, number>;

/** A unit with the number of entities it holds: a list that was never read counts as one that is missing. */
interface Counted {
  readonly unit: Unit;
  readonly entities: number;
}

/** Everything about one account. What only the pages show is put together when it is asked for. */
export function statusOf(account: AccountCollector, time: AnswerTime): AccountStatus {
  const { now } = time;
  const { budget } = account.scheduler;
  const counted = [...countedUnits(account)];
  const paused = budget.pausedUntil(now);
  const windows = counted
    .filter(({ unit }) => isWindowGroup(unit.group) && unitState(account, unit, time) !== 'missing')
    .flatMap(({ unit }) => (unit.held === undefined ? [] : [unit.held.windowEnd]));
  return {
    name: account.config.name,
    labels: account.config.labels,
    up: account.up,
    refused: account.refused,
    windowEnd: windows.length === 0 ? undefined : windows.reduce((a, b) => Math.max(a, b)),
    groups: GROUPS.filter((group) => isEnabled(account.config, group)).map((group) =>
      groupStatus(account, group, counted, time),
    ),
    budget: {
      configured: budget.perMinute,
      inForce: budget.inForce(now),
      lastMinute: budget.lastMinute(now),
      inFlight: budget.inFlight,
      pausedUntil: paused === undefined ? undefined : paused / 1000,
    },
    applications: applicationsOf(account),
    visible: {
      applications: account.inventory.applicationList?.length ?? 0,
      keyTransactions: account.inventory.keyTransactionList.length,
    },
    keyTransactions: account.inventory.keyTransactions.length,
    plan: account.plan(),
    get entities() {
      return counted.map(({ unit }) => entityStatus(account, unit, time));
    },
    get warnings() {
      return warningsOf(account);
    },
  };
}

/** The applications of an account, for service discovery. */
export function applicationListOf(account: AccountCollector, time: AnswerTime): ApplicationList {
  const served = unitState(account, account.applications, time) !== 'missing';
  return { account: account.config.name, applications: served ? applicationsOf(account) : undefined };
}

function applicationsOf({ inventory }: AccountCollector): ApplicationView[] | undefined {
  if (inventory.applicationList === undefined) return undefined;
  return [...inventory.applications.values()].map(({ application }) => ({
    id: application.id,
    name: application.name,
    language: application.language,
    reporting: application.reporting !== false,
  }));
}

/** How many entities of a scope, with the lists they come from, are fresh, stale and missing. */
export function countStates(account: AccountCollector, scope: Scope, time: AnswerTime): Counts {
  const counts = { fresh: 0, stale: 0, missing: 0 };
  const groups = neededGroups(scope).always;
  for (const { unit, entities } of countedUnits(account)) {
    if (!groups.has(unit.group) || !coversApplication(scope, unit.subject.applicationId)) continue;
    counts[unitState(account, unit, time)] += entities;
  }
  return counts;
}

function* countedUnits(account: AccountCollector): Generator<Counted> {
  const { inventory, applications, keyTransactions } = account;
  yield { unit: applications, entities: entitiesOf(applications, inventory.applications.size) };
  if (isEnabled(account.config, 'key_transactions')) {
    yield { unit: keyTransactions, entities: entitiesOf(keyTransactions, inventory.keyTransactions.length) };
  }
  for (const record of inventory.applications.values()) {
    for (const unit of unitsOf(record)) {
      if (unit === record.units?.hosts) yield { unit, entities: entitiesOf(unit, record.hosts.size) };
      else if (unit === record.units?.instances) yield { unit, entities: entitiesOf(unit, record.instances.length) };
      else yield { unit, entities: 1 };
    }
  }
}

function entitiesOf(list: Unit, held: number): number {
  return list.held === undefined ? 1 : held;
}

function isWindowGroup(group: Group): boolean {
  return group === 'application_metrics' || group === 'host_metrics';
}

function groupStatus(
  account: AccountCollector,
  group: Group,
  counted: readonly Counted[],
  time: AnswerTime,
): GroupStatus {
  const entities: Counts = { fresh: 0, stale: 0, missing: 0 };
  let oldest = Infinity;
  let failing = false;
  for (const { unit, entities: count } of counted) {
    if (unit.group !== group) continue;
    const state = unitState(account, unit, time);
    entities[state] += count;
    failing ||= unit.failures > 0;
    if (state !== 'missing' && unit.held !== undefined) oldest = Math.min(oldest, unit.held.windowEnd);
  }
  const progress = account.progress.get(group);
  const { interval, stretch } = account.pace(group);
  // While the account is refused, only its list is read.
  const refused = account.refused !== undefined && group !== 'applications';
  return {
    group,
    intervalSeconds: interval / 1000,
    effectiveIntervalSeconds: effectiveInterval(interval, stretch) / 1000,
    success: refused || failing ? false : progress?.success,
    lastSuccess: progress?.lastSuccess,
    durationSeconds: progress?.seconds,
    entities,
    oldestWindowEnd: Number.isFinite(oldest) ? oldest : undefined,
  };
}

function entityStatus(account: AccountCollector, unit: Unit, time: AnswerTime): EntityStatus {
  const { applicationId, hostKey: hostId } = unit.subject;
  const record = applicationId === undefined ? undefined : account.inventory.applications.get(applicationId);
  const host = hostId === undefined ? undefined : record?.hosts.get(hostId);
  return {
    group: unit.group,
    applicationId,
    application: record?.application.name,
    hostId,
    host: host?.host.host,
    state: unitState(account, unit, time),
    failures: unit.failures,
    problem: unit.problem,
    seconds: unit.seconds,
    windowEnd: unit.held?.windowEnd,
  };
}

import { endOfLife } from '../../config/endOfLife.ts';
import { GROUPS, type Group } from '../../metrics/groups.ts';
import { isEnabled } from '../inventory/context.ts';
import type { Entity } from '../inventory/entity.ts';
import type { Listed } from '../inventory/records.ts';
import { effectiveInterval } from '../schedule/due.ts';
import { coversApplication, neededGroups } from '../schedule/scope.ts';
import type {
  AccountStatus,
  AnswerTime,
  ApplicationView,
  EntityState,
  EntityStatus,
  GroupStatus,
  Scope,
} from '../view.ts';
import type { AnsweredAccount } from './answer.ts';
import { warningsOf } from './warnings.ts';

type Counts = Record<EntityState, number>;

/** One entity of a group, as the group counts them. */
interface Counted {
  readonly group: Group;
  readonly applicationId: number | undefined;
  /** What it is read as: a list entry by its list, with rolling values of its own by those as well. */
  readonly entity: Entity;
  readonly rolling: Entity | undefined;
}

/**
 * Everything about one account. What only the pages show is put together when it is asked for.
 *
 * @param wallNow Unix milliseconds
 */
export function statusOf(account: AnsweredAccount, time: AnswerTime, wallNow: number): AccountStatus {
  const { now } = time;
  const { budget, inventory, timetable, context } = account;
  const { account: config } = context;
  const plan = timetable.plan(true);
  const paused = budget.pausedUntil(now);
  return {
    name: config.name,
    api: config.api,
    region: config.region ?? '',
    endOfLife: endOfLife(config),
    labels: config.labels,
    up: account.up,
    refused: account.refused,
    windowEnd: newestWindow(account, time),
    groups: groupStatuses(account, time),
    budget: {
      configured: budget.perMinute,
      inForce: budget.inForce(now),
      lastMinute: budget.lastMinute(now),
      inFlight: budget.inFlight,
      pausedUntil: paused === undefined ? undefined : (wallNow + paused - now) / 1000,
    },
    applications: applicationViews(account),
    visible: {
      applications: inventory.listedApplications?.length ?? 0,
      keyTransactions: inventory.listedKeyTransactions?.length ?? 0,
    },
    keyTransactions: inventory.keyTransactions.size,
    plan,
    get entities() {
      return inventory.entities().map((entity) => entityStatus(account, entity, time));
    },
    get warnings() {
      return warningsOf(account);
    },
  };
}

/** The end of the newest window of metric data that is served. */
function newestWindow({ inventory, timetable }: AnsweredAccount, time: AnswerTime): number | undefined {
  const stateOf = timetable.states(time);
  let newest: number | undefined;
  for (const entity of inventory.entities()) {
    const { held, group } = entity;
    if (held === undefined || (newest !== undefined && held.windowEnd <= newest)) continue;
    if (isWindowGroup(group) && stateOf(entity) !== 'missing') newest = held.windowEnd;
  }
  return newest;
}

/** The applications an account serves; undefined until its list has been read once. */
export function applicationViews({ inventory }: AnsweredAccount): readonly ApplicationView[] | undefined {
  if (inventory.listedApplications === undefined) return undefined;
  return [...inventory.applications.values()].map(({ application }) => ({
    id: application.id,
    name: application.name,
    language: application.language,
    reporting: application.reporting !== false,
  }));
}

/** How many entities of a scope, with the lists they come from, are fresh, stale and missing. */
export function countStates(account: AnsweredAccount, scope: Scope, time: AnswerTime): Counts {
  const counts = { fresh: 0, stale: 0, missing: 0 };
  const needs = neededGroups(scope, account.context);
  const stateOf = account.timetable.states(time);
  for (const { group, applicationId, entity, rolling } of countedEntities(account)) {
    if (!needs.always.has(group) || !coversApplication(scope, applicationId)) continue;
    // Rolling values do not matter to a scope that needs the group for its list only.
    counts[worseOf(stateOf, entity, needs.rolling.has(group) ? rolling : undefined)] += 1;
  }
  return counts;
}

function countedEntities({ inventory, context }: AnsweredAccount): readonly Counted[] {
  const counted: Counted[] = [];
  addEntries(counted, 'applications', inventory.applicationList, inventory.applications, (id) => id);
  if (isEnabled(context, 'key_transactions')) {
    const { keyTransactionList, keyTransactions } = inventory;
    addEntries(counted, 'key_transactions', keyTransactionList, keyTransactions, (_, { keyTransaction }) => {
      return keyTransaction.applicationId;
    });
  }
  for (const [applicationId, record] of inventory.applications) {
    const { data } = record;
    if (data === undefined) continue;
    for (const entity of [data.datastoreList, data.customNameList, data.metrics]) {
      if (entity !== undefined) counted.push({ group: entity.group, applicationId, entity, rolling: undefined });
    }
    if (data.hostList !== undefined) addEntries(counted, 'hosts', data.hostList, data.hosts, () => applicationId);
    for (const { metrics } of data.hosts.values()) {
      counted.push({ group: 'host_metrics', applicationId, entity: metrics, rolling: undefined });
    }
    const { instanceList } = data;
    if (instanceList === undefined) continue;
    const instances = instanceList.held === undefined ? 1 : data.instances.length;
    for (let index = 0; index < instances; index += 1) {
      counted.push({ group: 'instances', applicationId, entity: instanceList, rolling: undefined });
    }
  }
  return counted;
}

/** The entries of a list; a list that was never read counts as one that is missing. */
function addEntries<K, R extends Listed>(
  counted: Counted[],
  group: Group,
  list: Entity,
  records: ReadonlyMap<K, R>,
  applicationOf: (key: K, record: R) => number | undefined,
): void {
  if (list.held === undefined) {
    counted.push({ group, applicationId: list.subject.applicationId, entity: list, rolling: undefined });
    return;
  }
  for (const [key, record] of records) {
    counted.push({
      group,
      applicationId: applicationOf(key, record),
      entity: list,
      rolling: record.rolling?.entity,
    });
  }
}

function worseOf(stateOf: (entity: Entity) => EntityState, entity: Entity, rolling: Entity | undefined): EntityState {
  const state = stateOf(entity);
  if (rolling === undefined || state === 'missing') return state;
  const other = stateOf(rolling);
  return other === 'fresh' ? state : other;
}

function isWindowGroup(group: Group): boolean {
  return group === 'application_metrics' || group === 'host_metrics';
}

interface Tally {
  readonly entities: Counts;
  oldest: number;
}

function groupStatuses(account: AnsweredAccount, time: AnswerTime): GroupStatus[] {
  const { timetable, context, inventory } = account;
  const tallies = new Map<Group, Tally>();
  const tallyOf = (group: Group): Tally => {
    let tally = tallies.get(group);
    if (tally === undefined) {
      tally = { entities: { fresh: 0, stale: 0, missing: 0 }, oldest: Infinity };
      tallies.set(group, tally);
    }
    return tally;
  };
  const stateOf = timetable.states(time);
  const counts = timetable.counting();
  for (const { group, entity, rolling } of countedEntities(account)) {
    if (!counts(entity)) continue;
    const asked = rolling !== undefined && counts(rolling) ? rolling : undefined;
    tallyOf(group).entities[worseOf(stateOf, entity, asked)] += 1;
  }
  for (const entity of inventory.entities()) {
    if (!counts(entity)) continue;
    const { held } = entity;
    if (held === undefined || stateOf(entity) === 'missing') continue;
    const tally = tallyOf(entity.group);
    tally.oldest = Math.min(tally.oldest, held.windowEnd);
  }
  return GROUPS.filter((group) => isEnabled(context, group)).map((group) =>
    groupStatus(account, group, tallyOf(group)),
  );
}

function groupStatus(account: AnsweredAccount, group: Group, { entities, oldest }: Tally): GroupStatus {
  const { timetable } = account;
  const progress = account.progress.of(group);
  const { interval, stretch } = timetable.pace(group);
  // While the account is refused, only its list is read.
  const refused = account.refused !== undefined && group !== 'applications';
  return {
    group,
    intervalSeconds: interval / 1000,
    effectiveIntervalSeconds: effectiveInterval(interval, stretch) / 1000,
    success: refused ? false : progress.success,
    lastSuccess: progress.lastSuccess,
    durationSeconds: progress.seconds,
    entities,
    oldestWindowEnd: Number.isFinite(oldest) ? oldest : undefined,
  };
}

function entityStatus(account: AnsweredAccount, entity: Entity, time: AnswerTime): EntityStatus {
  const { applicationId, hostKey } = entity.subject;
  const { inventory, timetable } = account;
  const record = applicationId === undefined ? undefined : inventory.applications.get(applicationId);
  return {
    group: entity.group,
    applicationId,
    application: record?.application.name,
    hostId: hostKey,
    host: inventory.hostOf(entity.subject)?.host.host,
    state: timetable.stateOf(entity, time),
    failures: entity.failures,
    problem: entity.problem,
    seconds: entity.seconds,
    windowEnd: entity.held?.windowEnd,
  };
}

import { endOfLife } from '../../config/endOfLife.ts';
import { GROUPS, type Group } from '../../metrics/groups.ts';
import { isEnabled } from '../inventory/context.ts';
import type { Entity } from '../inventory/entity.ts';
import { effectiveInterval } from '../schedule/due.ts';
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
import { Tally, type GroupTally } from './tally.ts';
import { visitAtOnce } from './visit.ts';
import { warningsOf } from './warnings.ts';

/** The state of an account is the same whatever a scope asks for. */
const NOTHING: Scope = { groups: new Set() };

/** The state of an account, all at once; see `statusOf`. */
export function statusAtOnce(account: AnsweredAccount, time: AnswerTime, wallNow: number): AccountStatus {
  account.timetable.plan(true);
  const tally = new Tally(account, NOTHING, time);
  visitAtOnce(account.inventory, [tally]);
  return statusOf(account, tally, time, wallNow);
}

/**
 * Everything about one account. What only the pages show is put together when it is asked for.
 *
 * @param tally has visited the whole account
 * @param wallNow Unix milliseconds
 */
export function statusOf(account: AnsweredAccount, tally: Tally, time: AnswerTime, wallNow: number): AccountStatus {
  const { now } = time;
  const { budget, inventory, timetable, context } = account;
  const { account: config } = context;
  const paused = budget.pausedUntil(now);
  return {
    name: config.name,
    api: config.api,
    region: config.region ?? '',
    endOfLife: endOfLife(config),
    labels: config.labels,
    up: account.up,
    refused: account.refused,
    windowEnd: tally.newestWindowEnd,
    groups: GROUPS.filter((group) => isEnabled(context, group)).map((group) =>
      groupStatus(account, group, tally.of(group)),
    ),
    budget: {
      configured: budget.perMinute,
      inForce: budget.inForce(now),
      lastMinute: budget.lastMinute(now),
      inFlight: budget.inFlight,
      pausedUntil: paused === undefined ? undefined : (wallNow + paused - now) / 1000,
    },
    get applications() {
      return applicationViews(account);
    },
    visible: {
      applications: inventory.listedApplications?.length ?? 0,
      keyTransactions: inventory.listedKeyTransactions?.length ?? 0,
    },
    keyTransactions: inventory.keyTransactions.size,
    plan: timetable.plan(),
    get entities() {
      const stateOf = timetable.states(time);
      return inventory.entities().map((entity) => entityStatus(account, entity, stateOf(entity)));
    },
    get warnings() {
      return warningsOf(account);
    },
  };
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

function groupStatus(account: AnsweredAccount, group: Group, { entities, oldestWindowEnd }: GroupTally): GroupStatus {
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
    oldestWindowEnd: Number.isFinite(oldestWindowEnd) ? oldestWindowEnd : undefined,
  };
}

function entityStatus({ inventory }: AnsweredAccount, entity: Entity, state: EntityState): EntityStatus {
  const { applicationId, hostKey } = entity.subject;
  const record = applicationId === undefined ? undefined : inventory.applications.get(applicationId);
  return {
    group: entity.group,
    applicationId,
    application: record?.application.name,
    hostId: hostKey,
    host: inventory.hostOf(entity.subject)?.host.host,
    state,
    failures: entity.failures,
    problem: entity.problem,
    seconds: entity.seconds,
    windowEnd: entity.held?.windowEnd,
  };
}

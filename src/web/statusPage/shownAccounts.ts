import type { AccountStatus, ApplicationView, TaskStatus } from '../../collect/accountStatus.ts';
import { groupFailures, type FailureGroup } from '../../collect/failureGroups.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { titleAndUnit } from '../../metrics/monitoredFamilies.ts';
import type { Block, PackedSamples } from '../../metrics/writeSamples.ts';
import { FIRST_OF, type Group } from '../../reads/reads.ts';

/** An account with the values that it serves, and sums of its tasks. */
export interface ShownAccount extends AccountStatus {
  readonly applications: readonly ShownApplication[] | undefined;
  /** The entities of other types, in the order of their types and names. */
  readonly monitored: readonly ShownEntity[];
  readonly failures: readonly FailureGroup[];
  /** The number of tasks whose last attempt failed; at least 1 where the account cannot be read. */
  readonly failing: number;
  readonly states: States;
  /** The late tasks of each group that has any. */
  readonly lateByGroup: ReadonlyMap<Group, number>;
  /** True if values are served: lists of names are none. */
  readonly isServing: boolean;
  /** The read of each group whose last attempt took longest. */
  readonly slowest: ReadonlyMap<Group, TaskStatus>;
}

/** How many tasks are in each state. `late` counts the stale ones that a scrape has passed by. */
export type States = Readonly<Record<TaskStatus['state'] | 'late', number>>;

export interface ShownApplication extends ApplicationView, Served {
  /** The read of its metric data; undefined where there is none. */
  readonly read: TaskStatus | undefined;
}

/** What is served of an application, in base units; values of the window take the place of rolling ones. */
interface Served {
  /** Per second. */
  requests?: number;
  errorRatio?: number;
  apdexScore?: number;
  apdexRequests?: number;
  apdexThreshold?: number;
  responseTime?: number;
  health?: string | undefined;
  /** Its metric data, for {@link listParts}. */
  readonly window?: PackedSamples;
}

/** A part of a response time; `metric` is the name of its family. */
export interface Part {
  readonly kind: 'queue' | 'component' | 'total';
  readonly name: string;
  readonly metric: string;
  readonly seconds: number;
}

export interface ShownEntity extends Pick<ApplicationView, 'name' | 'reporting'> {
  readonly type: string;
  readonly guid: string;
  readonly health: string | undefined;
  /** A sample each; title and unit are New Relic's. */
  readonly golden: ReturnType<typeof readGoldenMetrics>;
}

/** The families of the figures; those of one figure in one block are added up. */
const FIGURES: ReadonlyMap<string, Exclude<keyof Served, 'health' | 'window'>> = new Map([
  ['newrelic_application_rolling_requests_per_second', 'requests'],
  ['newrelic_application_rolling_error_ratio', 'errorRatio'],
  ['newrelic_application_rolling_apdex_score', 'apdexScore'],
  ['newrelic_application_rolling_apdex_target_seconds', 'apdexThreshold'],
  ['newrelic_application_web_requests_per_second', 'requests'],
  ['newrelic_application_non_web_requests_per_second', 'requests'],
  ['newrelic_application_error_ratio', 'errorRatio'],
  ['newrelic_application_apdex_score', 'apdexScore'],
  ['newrelic_application_apdex_requests', 'apdexRequests'],
  ['newrelic_application_apdex_threshold_seconds', 'apdexThreshold'],
  ['newrelic_application_response_time_seconds', 'responseTime'],
]);

const PARTS: ReadonlyMap<string, Pick<Part, 'kind' | 'name'>> = new Map([
  ['newrelic_application_queue_time_seconds', { kind: 'queue', name: 'Request queueing' }],
  ['newrelic_application_component_time_seconds', { kind: 'component', name: '' }],
  ['newrelic_application_total_time_seconds', { kind: 'total', name: 'Application code' }],
]);

/** Joins the accounts with the values that the blocks have of them; lets other work run in between. */
export async function joinAccounts(
  accounts: readonly AccountStatus[],
  blocks: readonly Block[],
  signal: AbortSignal,
): Promise<readonly ShownAccount[]> {
  const applications = new Map<string, Served>();
  const entities = new Map<string, Map<string, ShownEntity>>();
  const take = ({ group, labels, samples }: Block): void => {
    const { account = '', app_id: id, entity_guid: guid, entity: name = '', entity_type: type = '' } = labels;
    if (id !== undefined) {
      const key = `${id}/${account}`;
      const window = group === 'application_metrics' ? { window: samples } : {};
      applications.set(key, { ...applications.get(key), ...readFigures(samples), ...window });
    } else if (guid !== undefined) {
      const byGuid = entities.get(account) ?? new Map<string, ShownEntity>();
      entities.set(account, byGuid);
      const known = byGuid.get(guid);
      if (group === 'entities') byGuid.set(guid, { type, guid, name, ...readState(samples), golden: [] });
      else if (known !== undefined) byGuid.set(guid, { ...known, golden: readGoldenMetrics(samples) });
    }
  };
  await inSlices(blocks, take, signal);
  const shown: ShownAccount[] = [];
  for (const account of accounts) {
    const { reads, failed, ...sums } = await sumTasks(account.tasks, signal);
    const served: ShownApplication[] = [];
    const add = (application: ApplicationView): void => {
      const { id } = application;
      served.push({ ...application, ...applications.get(`${id}/${account.name}`), read: reads.get(id) });
    };
    await inSlices(account.applications ?? [], add, signal);
    shown.push({
      ...account,
      applications: account.applications === undefined ? undefined : served,
      monitored: [...(entities.get(account.name)?.values() ?? [])],
      failures: groupFailures(failed),
      failing: Math.max(failed.length, Number(isUnread(account))),
      ...sums,
    });
  }
  return shown;
}

async function sumTasks(tasks: readonly TaskStatus[], signal: AbortSignal) {
  const failed: TaskStatus[] = [];
  const reads = new Map<number, TaskStatus>();
  const states = { fresh: 0, stale: 0, missing: 0 };
  const lateByGroup = new Map<Group, number>();
  const slowest = new Map<Group, TaskStatus>();
  let isServing = false;
  const take = (task: TaskStatus): void => {
    const { group, applicationId, problem, state, isLate, seconds = 0 } = task;
    states[state] += 1;
    if (isLate) lateByGroup.set(group, (lateByGroup.get(group) ?? 0) + 1);
    if (seconds > (slowest.get(group)?.seconds ?? 0)) slowest.set(group, task);
    isServing ||= state !== 'missing' && FIRST_OF[group].gives !== 'names';
    if (problem !== undefined) failed.push(task);
    if (group === 'application_metrics' && applicationId !== undefined) reads.set(applicationId, task);
  };
  await inSlices(tasks, take, signal);
  const late = [...lateByGroup.values()].reduce((sum, each) => sum + each, 0);
  return { failed, reads, states: { ...states, late }, lateByGroup, isServing, slowest };
}

/** True for an account that cannot be read as a whole. */
export function isUnread({ refused, outage }: Pick<AccountStatus, 'refused' | 'outage'>): boolean {
  return refused !== undefined || outage !== undefined;
}

/** Reads samples; the only place of the page that knows how they are kept. */
function listSamples({ columns, values }: PackedSamples) {
  return columns.map(({ family, labels }, index) => ({ family, labels, value: values[index] ?? NaN }));
}

function readFigures(samples: PackedSamples): Served {
  const figures: Served = {};
  for (const { family, labels, value } of listSamples(samples)) {
    const figure = FIGURES.get(family.name);
    if (figure !== undefined) figures[figure] = (figures[figure] ?? 0) + value;
    else if (family.name === 'newrelic_application_health_status' && value === 1) figures.health = labels.status;
  }
  return figures;
}

/** Returns the parts of an application's response time: queueing, components by name, the application's own code. */
export function listParts({ window }: Pick<ShownApplication, 'window'>): readonly Part[] {
  const parts = (window === undefined ? [] : listSamples(window)).flatMap(({ family, labels, value }): Part[] => {
    const part = PARTS.get(family.name);
    if (part === undefined) return [];
    return [{ ...part, name: labels.component ?? part.name, metric: family.name, seconds: value }];
  });
  const kinds = ['queue', 'component', 'total'];
  return parts.sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || (a.name < b.name ? -1 : 1));
}

function readState(samples: PackedSamples) {
  const isTrue = listSamples(samples).filter(({ value }) => value === 1);
  return {
    reporting: isTrue.some(({ family }) => family.name === 'newrelic_entity_reporting'),
    health: isTrue.find(({ family }) => family.name === 'newrelic_entity_health_status')?.labels.status,
  };
}

function readGoldenMetrics(samples: PackedSamples) {
  return listSamples(samples).map(({ family, labels: { percentile }, value }) => ({
    metric: family.name,
    ...titleAndUnit(family.help),
    ...(percentile === undefined ? {} : { percentile }),
    value,
  }));
}

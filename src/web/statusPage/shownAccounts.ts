import type { AccountStatus, ApplicationView, TaskStatus } from '../../collect/serve/accountStatus.ts';
import { groupFailures, type FailureGroup } from '../../collect/serve/failureGroups.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { parseGoldenHelp } from '../../metrics/monitoredFamilies.ts';
import { NO_SAMPLES, type Block, type PackedSamples } from '../../metrics/writeSamples.ts';
import { FIRST_OF, type Group } from '../../reads/reads.ts';

/** An account with its served values, and sums over its tasks. */
export interface ShownAccount
  extends Omit<AccountStatus, 'applications'>, Omit<Awaited<ReturnType<typeof sumTasks>>, 'reads'> {
  readonly applications: readonly Shown[] | undefined;
  /** Entities of other types, sorted by type and name. */
  readonly monitored: readonly Shown[];
  readonly failures: readonly FailureGroup[];
  /** Tasks whose last attempt failed; at least 1 if the account cannot be read. */
  readonly failing: number;
}

interface Listed extends Omit<ApplicationView, 'id'> {
  /** The number of an application, the GUID of an entity. */
  readonly id: number | string;
  /** Undefined for an application. */
  readonly type?: string;
}

type Figure = 'requests' | 'errorRatio' | 'apdexScore' | 'apdexRequests' | 'apdexThreshold' | 'responseTime';

/** Served values in base units; requests per second. Window values replace rolling values. */
interface Served extends Partial<Record<Figure, number>> {
  health?: string | undefined;
  /** Metric data of an application for {@link listParts}, golden metrics of an entity for {@link listGoldenMetrics}. */
  readonly window?: PackedSamples;
}

/** An application, or an entity of another type. */
export interface Shown extends Listed, Served {
  /** The task for the metric data of an application. */
  readonly read: TaskStatus | undefined;
}

export type Part = ReturnType<typeof listParts>[number];

/** Figures by family. Families of the same figure in one block are added up. */
const FIGURES: ReadonlyMap<string, Figure> = new Map([
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

const HEALTHS = ['newrelic_application_health_status', 'newrelic_entity_health_status'];
const REPORTING = 'newrelic_entity_reporting';

const PARTS = new Map([
  ['newrelic_application_queue_time_seconds', { kind: 'queue', name: 'Request queueing' }],
  ['newrelic_application_component_time_seconds', { kind: 'component', name: '' }],
  ['newrelic_application_total_time_seconds', { kind: 'total', name: 'Application code' }],
]);

/** Joins the accounts with their values in the blocks. */
export async function joinAccounts(accounts: readonly AccountStatus[], blocks: readonly Block[], signal: AbortSignal) {
  const served = new Map<string, Served>();
  const entities = new Map<string, Listed[]>();
  const take = ({ group, labels, samples }: Block): void => {
    const { account = '', app_id: appId, entity_guid: guid = '', entity: name = '', entity_type: type = '' } = labels;
    const key = `${appId ?? guid}/${account}`;
    const window = FIRST_OF[group].gives === 'window' ? { window: samples } : {};
    served.set(key, { ...served.get(key), ...readFigures(samples), ...window });
    if (group !== 'entities') return;
    const reporting = listSamples(samples).some(({ family, value }) => family.name === REPORTING && value === 1);
    const listed = entities.get(account) ?? [];
    listed.push({ type, id: guid, name, reporting });
    entities.set(account, listed);
  };
  await inSlices(blocks, take, signal);
  const shown: ShownAccount[] = [];
  for (const account of accounts) {
    const { name, applications, tasks } = account;
    const { reads, ...sums } = await sumTasks(tasks, signal);
    const join = async (all: readonly Listed[]): Promise<readonly Shown[]> => {
      const list: Shown[] = [];
      const add = (each: Listed) =>
        list.push({ ...each, ...served.get(`${each.id}/${name}`), read: reads.get(each.id) });
      await inSlices(all, add, signal);
      return list;
    };
    const failures = groupFailures(tasks);
    const failing = failures.reduce((sum, failure) => sum + failure.tasks.length, 0);
    shown.push({
      ...account,
      applications: applications && (await join(applications)),
      monitored: await join(entities.get(name) ?? []),
      failures,
      failing: Math.max(failing, Number(isUnread(account))),
      ...sums,
    });
  }
  return shown;
}

async function sumTasks(tasks: readonly TaskStatus[], signal: AbortSignal) {
  const reads = new Map<number | string | undefined, TaskStatus>();
  const states = { fresh: 0, stale: 0, missing: 0 };
  /** Stale tasks that a scrape did not refresh. */
  const lateByGroup = new Map<Group, number>();
  /** The task of each group with the longest last attempt. */
  const slowest = new Map<Group, TaskStatus>();
  const take = (task: TaskStatus): void => {
    const { group, applicationId, state, isLate, seconds = 0 } = task;
    states[state] += 1;
    if (isLate) lateByGroup.set(group, (lateByGroup.get(group) ?? 0) + 1);
    if (seconds > (slowest.get(group)?.seconds ?? 0)) slowest.set(group, task);
    if (group === 'application_metrics') reads.set(applicationId, task);
  };
  await inSlices(tasks, take, signal);
  return { reads, states, lateByGroup, slowest };
}

/** True if an account cannot be read as a whole. */
export function isUnread({ refused, outage }: Pick<AccountStatus, 'refused' | 'outage'>): boolean {
  return refused !== undefined || outage !== undefined;
}

/** True if an account serves values. Names of metrics are not values. */
export function isServing({ tasks }: ShownAccount): boolean {
  return tasks.some(({ state, group }) => state !== 'missing' && FIRST_OF[group].gives !== 'names');
}

function listSamples({ columns, values } = NO_SAMPLES) {
  return columns.map(({ family, labels }, index) => ({ family, labels, value: values[index] ?? NaN }));
}

function readFigures(samples: PackedSamples): Served {
  const figures: Served = {};
  for (const { family, labels, value } of listSamples(samples)) {
    const figure = FIGURES.get(family.name);
    if (figure !== undefined) figures[figure] = (figures[figure] ?? 0) + value;
    else if (HEALTHS.includes(family.name) && value === 1) figures.health = labels.status;
  }
  return figures;
}

/** Returns the parts of an application's response time: queueing, components by name, application code. */
export function listParts({ window }: Served) {
  const parts = listSamples(window).flatMap(({ family, labels, value: seconds }) => {
    const part = PARTS.get(family.name);
    return part === undefined ? [] : { ...part, name: labels.component ?? part.name, metric: family.name, seconds };
  });
  const kinds = ['queue', 'component', 'total'];
  return parts.sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || (a.name < b.name ? -1 : 1));
}

/** Returns the golden metrics of an entity, with New Relic's titles and units. */
export function listGoldenMetrics({ window }: Served) {
  return listSamples(window).map(({ family, labels: { percentile }, value }) => ({
    metric: family.name,
    ...parseGoldenHelp(family.help),
    ...(percentile === undefined ? {} : { percentile }),
    value,
  }));
}

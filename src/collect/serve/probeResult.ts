import type { Api } from '../../api/upstreamReader.ts';
import { isApdex, METRIC } from '../../formulas/metricInputs.ts';
import { FAMILIES } from '../../metrics/catalogue.ts';
import type { CatalogueFamily, Family } from '../../metrics/family.ts';
import { WINDOW_FAMILIES } from '../../metrics/windowFamilies.ts';
import { GROUPS, READS, type Group } from '../../reads/reads.ts';
import type { Block, DroppedSeries } from '../../metrics/writeSamples.ts';
import type { EvaluationTime, Task } from '../inventory/task.ts';
import type { ApplicationRecord } from '../inventory/records.ts';
import type { AccountCollector } from '../accounts/accountCollector.ts';
import { AccountSnapshot } from './accountSnapshot.ts';

export type ProbeResult =
  | { readonly kind: 'unknown_account'; readonly known: readonly string[] }
  | { readonly kind: 'unknown_application' }
  /** The application list could not be read, so the application may exist. The notes give the reason. */
  | { readonly kind: 'unreadable'; readonly notes: readonly string[] }
  /** `success`: no task has failed and no data is missing. `notes`: what was read, and why a family is absent. */
  | {
      readonly kind: 'result';
      readonly success: boolean;
      readonly blocks: readonly Block[];
      readonly cut: readonly DroppedSeries[];
      readonly notes: readonly string[];
    };

export function probeResult(account: AccountCollector, applicationId: number, time: EvaluationTime): ProbeResult {
  const { inventory, schedule } = account;
  const record = inventory.applications.get(applicationId);
  const tasks = inventory.tasks(applicationId);
  const describe = (task: Task): string => describeTask(account, task, time);
  const notes = tasks.filter(({ subject }) => subject.applicationId === undefined).map(describe);
  if (inventory.listedApplications === undefined) {
    return { kind: 'unreadable', notes: [...notes, ...describeLeftOut(account)] };
  }
  if (record === undefined) {
    return account.up ? { kind: 'unknown_application' } : { kind: 'unreadable', notes };
  }
  const { blocks, cut } = AccountSnapshot.atOnce(account, { groups: new Set(GROUPS), applicationId }, time);
  return {
    kind: 'result',
    success:
      account.refused === undefined &&
      tasks.every((task) => task.failures === 0 && schedule.stateOf(task, time) !== 'missing'),
    blocks,
    cut,
    notes: [
      ...tasks.map(describe),
      ...describeData(record),
      ...describeLeftOut(account),
      ...describeAbsentFamilies(account, record, blocks),
    ],
  };
}

function describeLeftOut({ context: { account } }: AccountCollector): string[] {
  return [
    ...(account.applications.read ? [] : ['applications are not read (applications: false)']),
    ...(account.entities.length > 0 ? ['/probe leaves out entities: /metrics has them'] : []),
    ...(account.queries.length > 0 ? ['/probe leaves out queries: /metrics has them'] : []),
  ];
}

function describeTask({ schedule }: AccountCollector, task: Task, time: EvaluationTime): string {
  const { kind, group, subject, lastRead, seconds, problem, failures } = task;
  const data = READS[kind].gives === 'rolling' ? `${group}, rolling values` : group;
  const what = subject.hostKey === undefined ? data : `${data} of host ${subject.hostKey}`;
  const state = schedule.stateOf(task, time);
  const read =
    lastRead === undefined
      ? 'never read'
      : `last read at ${new Date(lastRead.shownAt).toISOString()} for the window that ends ` +
        new Date(lastRead.windowEnd * 1000).toISOString();
  const took = seconds === undefined ? '' : `, the last attempt took ${seconds.toFixed(3)} s`;
  const often = failures === 1 ? 'once' : `${failures} times in a row`;
  const failed = problem === undefined ? '' : `; failed ${often}: ${problem.text}`;
  return `${what}: ${state}, ${read}${took}${failed}`;
}

/** Describes what is not read of an application, and the metrics that New Relic returned. */
function describeData({ data }: ApplicationRecord): string[] {
  if (data === undefined) return ['no metric data: the application does not report (applications.reporting_only)'];
  const { reading, tasks, hosts, datastores } = data;
  const choice = data.database?.choice ?? 'not decided';
  const notes: string[] = [];
  if (tasks.hosts === undefined)
    notes.push('no hosts: they are off for the application (hosts, applications.settings)');
  else if (tasks.hosts.lastRead !== undefined && hosts.size === 0) notes.push('no hosts: their list is empty');
  if (tasks.metric_names === undefined) notes.push(`database types: read with the metric data; chosen: ${choice}`);
  else if (datastores === undefined) {
    notes.push('database types: not known, so there are no component times, component calls and total time');
  } else notes.push(`database types: ${datastores.join(', ') || 'none'}; chosen: ${choice}`);
  if (reading === undefined) return notes;
  const metrics = [...reading.values.metrics].map(([name, { count }]) =>
    count === undefined || isApdex(name) ? name : `${name} (${count})`,
  );
  return [...notes, `New Relic returned ${metrics.length} metrics (with their counts): ${metrics.join(', ')}`];
}

function findReadGroups({ inventory }: AccountCollector, { entry, data }: ApplicationRecord): ReadonlySet<Group> {
  const groups = new Set<Group>(['applications']);
  const hosts = [...(data?.hosts.values() ?? [])];
  if ([...inventory.keyTransactions.values()].some((each) => each.entry.applicationId === entry.id)) {
    groups.add('key_transactions');
  }
  if (data?.reading !== undefined) groups.add('application_metrics');
  if (data?.tasks.counters?.lastRead !== undefined) groups.add('counters');
  if (hosts.length > 0) groups.add('hosts');
  if (hosts.some(({ reading }) => reading !== undefined)) groups.add('host_metrics');
  if (data !== undefined && data.instances.size > 0) groups.add('instances');
  return groups;
}

/** Says of each family of the read groups without a series why, and from which metrics it comes. */
function describeAbsentFamilies(
  account: AccountCollector,
  record: ApplicationRecord,
  blocks: readonly Block[],
): string[] {
  const groups = findReadGroups(account, record);
  const { api } = account.context.account;
  const present = new Set<Family>(blocks.flatMap(({ samples }) => samples.columns.map(({ family }) => family)));
  return FAMILIES.filter((family) => groups.has(family.group) && !present.has(family)).map(
    (family) => `${family.name} is absent: ${explainAbsence(family, api, record)}; it comes from ${family.source}`,
  );
}

const WINDOW_ROWS = new Map(Object.values(WINDOW_FAMILIES).flatMap((rows) => rows.map((row) => [row.name, row])));

function explainAbsence(family: CatalogueFamily, api: Api, { data }: ApplicationRecord): string {
  if (!family.interfaces.includes(api))
    return `${api === 'rest' ? 'the REST interface' : 'NerdGraph'} does not have it`;
  const names = WINDOW_ROWS.get(family.name)?.reads;
  if (names === undefined) return 'New Relic has no such value, or nothing to average';
  const hosts = [...(data?.hosts.values() ?? [])].map(({ reading }) => reading);
  const readings = family.group === 'host_metrics' ? hosts : [data?.reading];
  const responses = readings.flatMap((reading) => (reading === undefined ? [] : [reading.values.metrics]));
  const columnsOf = (name: string) =>
    responses.map((metrics) => metrics.get(name)).filter((columns) => columns !== undefined);
  if (names.includes(METRIC.memcache)) {
    if (data?.database === undefined) return 'the kind of database is not known yet';
    if (names.every((name) => name === METRIC.web || columnsOf(name).length === 0))
      return 'New Relic returned no component';
  }
  const requests = columnsOf(METRIC.web).reduce((sum, { count = 0 }) => sum + count, 0);
  if (names.includes(METRIC.web) && requests === 0) return 'there were no web requests in the window';
  const missing = names.filter((name) => columnsOf(name).every((columns) => Object.keys(columns).length === 0));
  if (missing.length > 0) return `New Relic returned no ${missing.join(', ')}`;
  return `the response of New Relic gives no value: ${names.map((name) => `${name} ${JSON.stringify(columnsOf(name))}`).join(', ')}`;
}

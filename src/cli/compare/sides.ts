import type {
  ApplicationSubject,
  MetricDataAnswer,
  MetricDataSubject,
  RollingSubject,
  TimeRange,
} from '../../api/reader.ts';
import type { Application, Host, KeyTransaction } from '../../api/types.ts';
import { effectiveSettings } from '../../collect/selection.ts';
import { databaseKind, type DatabaseChoice } from '../../formulas/responseTimes.ts';
import type { Scope } from '../../metrics/family.ts';
import type { Labels, Sample } from '../../metrics/sample.ts';
import { applicationSamples, hostSamples, keyTransactionSamples } from '../../metrics/entityFamilies.ts';
import type { WindowValues } from '../../formulas/metricInputs.ts';
import { queryNames, windowSamples } from '../../metrics/windowFamilies.ts';
import { readEach } from '../upstream/reading.ts';
import type { LiveAccount } from '../upstream/session.ts';

/** One series as one interface has it. */
export interface SideSeries {
  readonly family: string;
  /** What tells it from the other series of its family, with readable names; the host by its name. */
  readonly labels: Labels;
  readonly value: number;
}

/** What one interface says about the chosen applications over one window. */
export interface Side {
  readonly series: readonly SideSeries[];
  /** Hosts by application id and name, to see which share a name. */
  readonly hosts: readonly (readonly [applicationId: number, host: string])[];
}

interface SideOptions {
  readonly window: TimeRange;
  readonly hosts: boolean;
}

interface HostOf {
  readonly application: Application;
  readonly host: Host;
}

/** Reads everything about these applications that both interfaces may have. Rejects with the first failure. */
export async function readSide(
  account: LiveAccount,
  applications: readonly Application[],
  options: SideOptions,
): Promise<Side> {
  const [hosts, keyTransactions] = await Promise.all([
    options.hosts ? readHosts(account, applications, options.window) : [],
    readKeyTransactions(account, applications),
  ]);
  const [state, window] = await Promise.all([
    readState(account, applications, hosts, keyTransactions, options.window),
    readWindow(account, applications, hosts, options.window),
  ]);
  return { series: [...state, ...window], hosts: hosts.map(({ application, host }) => [application.id, host.host]) };
}

async function readHosts(
  { reader, call }: LiveAccount,
  applications: readonly Application[],
  window: TimeRange,
): Promise<HostOf[]> {
  const lists = await readEach(reader.hosts, applications, subjectOf, window, call);
  return lists.flatMap(([application, hosts]) => hosts.map((host) => ({ application, host })));
}

async function readKeyTransactions(
  { config, reader, call }: LiveAccount,
  applications: readonly Application[],
): Promise<KeyTransaction[]> {
  if (config.key_transactions === false) return [];
  const chosen = new Set(applications.map(({ id }) => id));
  const list = await reader.listKeyTransactions({}, call);
  for (const { unread } of list) if (unread !== undefined) throw unread;
  return list.filter(({ applicationId }) => applicationId !== undefined && chosen.has(applicationId));
}

async function readState(
  { reader, call }: LiveAccount,
  applications: readonly Application[],
  hosts: readonly HostOf[],
  keyTransactions: readonly KeyTransaction[],
  window: TimeRange,
): Promise<SideSeries[]> {
  const { rolling } = reader;
  const withRolling = async <I>(items: readonly I[], subject: (item: I) => RollingSubject) =>
    rolling === undefined
      ? items.map((item) => [item, undefined] as const)
      : await readEach(rolling, items, subject, window, call);
  const [ofApplications, ofHosts, ofKeyTransactions] = await Promise.all([
    withRolling(applications, ({ id }) => ({ kind: 'application', applicationId: id })),
    withRolling(hosts, ({ application, host }) => ({ kind: 'host', applicationId: application.id, hostKey: host.key })),
    withRolling(keyTransactions, ({ id }) => ({ kind: 'key_transaction', keyTransactionId: id })),
  ]);
  return [
    ...ofApplications.flatMap(([each, values]) => seriesOf(applicationLabels(each), applicationSamples(each, values))),
    ...ofHosts.flatMap(([each, values]) => seriesOf(hostLabels(each), hostSamples(each.host, values))),
    ...ofKeyTransactions.flatMap(([each, values]) =>
      seriesOf(
        { key_transaction: each.name, key_transaction_id: String(each.id) },
        keyTransactionSamples(each, values),
      ),
    ),
  ];
}

async function readWindow(
  account: LiveAccount,
  applications: readonly Application[],
  hosts: readonly HostOf[],
  window: TimeRange,
): Promise<SideSeries[]> {
  const { config, reader, call } = account;
  const datastores = await readDatastores(account, applications, window);
  const subject = (scope: Scope, { id }: Application, hostKey: string | undefined): MetricDataSubject => ({
    applicationId: id,
    hostKey,
    names: queryNames(datastores.get(id) ?? [], scope, reader.api),
  });
  const [ofApplications, ofHosts] = await Promise.all([
    readEach(reader.metricData, applications, (each) => subject('application', each, undefined), window, call),
    readEach(reader.metricData, hosts, (each) => subject('host', each.application, each.host.key), window, call),
  ]);
  const databases = new Map<number, DatabaseChoice | undefined>();
  const series: SideSeries[] = [];
  for (const [application, answer] of ofApplications) {
    const values = windowValues(answer);
    const database = databaseKind(values, application.language, effectiveSettings(config, application).database);
    databases.set(application.id, database);
    series.push(...seriesOf(applicationLabels(application), windowSamples('application', values, database)));
  }
  for (const [each, answer] of ofHosts) {
    const samples = windowSamples('host', windowValues(answer), databases.get(each.application.id));
    series.push(...seriesOf(hostLabels(each), samples));
  }
  return series;
}

function windowValues({ window: { from, to }, metrics }: MetricDataAnswer): WindowValues {
  return { seconds: to - from, metrics };
}

async function readDatastores(
  { reader, call }: LiveAccount,
  applications: readonly Application[],
  window: TimeRange,
): Promise<ReadonlyMap<number, readonly string[]>> {
  if (reader.datastores === undefined) return new Map();
  const lists = await readEach(reader.datastores, applications, subjectOf, window, call);
  return new Map(lists.map(([{ id }, names]) => [id, names]));
}

function subjectOf({ id }: Application): ApplicationSubject {
  return { applicationId: id };
}

function applicationLabels({ id, name }: Application): Labels {
  return { app: name, app_id: String(id) };
}

function hostLabels({ application, host }: HostOf): Labels {
  return { ...applicationLabels(application), host: host.host };
}

/** The alert policy is known to one interface only, so it does not tell series apart. */
function seriesOf(entity: Labels, samples: readonly Sample[]): SideSeries[] {
  return samples.map(({ family, labels = {}, value }) => {
    const known = Object.entries(labels).filter(([name]) => name !== 'alert_policy_id');
    return { family: family.name, labels: { ...entity, ...Object.fromEntries(known) }, value };
  });
}

import type {
  ApplicationSubject,
  MetricDataAnswer,
  MetricDataSubject,
  RollingSubject,
  TimeRange,
} from '../../api/reader.ts';
import type { Application, Host, KeyTransaction } from '../../api/types.ts';
import type { DatabaseComponent } from '../../config/config.ts';
import { databaseKind, type DatabaseChoice } from '../../formulas/responseTimes.ts';
import { FAMILIES } from '../../metrics/catalogue.ts';
import type { CatalogueFamily, FamilyScope } from '../../metrics/family.ts';
import type { Labels, Sample } from '../../metrics/sample.ts';
import { entitySamples } from '../../metrics/entityFamilies.ts';
import type { WindowValues } from '../../formulas/metricInputs.ts';
import { queryNames, windowSamples } from '../../metrics/windowFamilies.ts';
import { readEach } from '../upstream/reading.ts';
import type { LiveAccount } from '../upstream/session.ts';

/** One series as one interface has it. */
export interface SideSeries {
  readonly family: CatalogueFamily;
  /** What tells it from the other series of its family, with readable names; the host by its name. */
  readonly labels: Labels;
  readonly value: number;
}

/** What one interface says about the chosen applications over one window. */
export interface Side {
  readonly series: readonly SideSeries[];
  /** What it lists, as entityKey names it: twice where two hosts share a name. */
  readonly entities: readonly string[];
}

interface HostOf {
  readonly application: Application;
  readonly host: Host;
}

const FAMILY_OF: ReadonlyMap<string, CatalogueFamily> = new Map(FAMILIES.map((family) => [family.name, family]));

/**
 * Reads everything about the chosen applications that both interfaces may have, as one of them lists these: those that the
 * other lists too, and those that it has alone, of which nothing more is read. Rejects with the first failure.
 *
 * @param options.database the database kind that the configuration sets for an application
 */
export async function readSide(
  account: LiveAccount,
  {
    applications,
    alone,
    keyTransactions,
  }: {
    readonly applications: readonly Application[];
    readonly alone: readonly Application[];
    readonly keyTransactions: readonly KeyTransaction[];
  },
  options: {
    readonly window: TimeRange;
    readonly hosts: boolean;
    readonly database: (applicationId: number) => DatabaseComponent;
  },
): Promise<Side> {
  for (const { unread } of keyTransactions) if (unread !== undefined) throw unread;
  const hosts = options.hosts ? await readHosts(account, applications, options.window) : [];
  const [state, window] = await Promise.all([
    readState(account, applications, hosts, keyTransactions, options.window),
    readWindow(account, applications, hosts, options.window, options.database),
  ]);
  const listed = alone.flatMap((each) =>
    seriesOf(applicationLabels(each), entitySamples('applications', each)).filter(
      ({ family }) => family.name === 'newrelic_application_info',
    ),
  );
  return {
    series: [...state, ...window, ...listed],
    entities: [
      ...[...applications, ...alone].map(applicationLabels),
      ...hosts.map(hostLabels),
      ...keyTransactions.map(keyTransactionLabels),
    ].map(entityKey),
  };
}

/** Names an entity by what both interfaces call it: ids, and the host by its name. */
export function entityKey({ app_id, host, key_transaction_id }: Labels): string {
  if (key_transaction_id !== undefined) return JSON.stringify(['key transaction', key_transaction_id]);
  return JSON.stringify(host === undefined ? ['application', app_id] : ['host', app_id, host]);
}

async function readHosts(
  { reader, call }: LiveAccount,
  applications: readonly Application[],
  window: TimeRange,
): Promise<HostOf[]> {
  const lists = await readEach(reader.hosts, applications, subjectOf, window, call);
  return lists.flatMap(([application, hosts]) => hosts.map((host) => ({ application, host })));
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
    ...ofApplications.flatMap(([each, values]) =>
      seriesOf(applicationLabels(each), entitySamples('applications', each, values)),
    ),
    ...ofHosts.flatMap(([each, values]) => seriesOf(hostLabels(each), entitySamples('hosts', each.host, values))),
    ...ofKeyTransactions.flatMap(([each, values]) =>
      seriesOf(keyTransactionLabels(each), entitySamples('key_transactions', each, values)).map((series) =>
        // The series of both interfaces are compared by the key transaction alone; its info says whose it is.
        series.family.name === 'newrelic_key_transaction_info'
          ? { ...series, labels: { ...series.labels, ...ownerOf(each) } }
          : series,
      ),
    ),
  ];
}

async function readWindow(
  account: LiveAccount,
  applications: readonly Application[],
  hosts: readonly HostOf[],
  window: TimeRange,
  configured: (applicationId: number) => DatabaseComponent,
): Promise<SideSeries[]> {
  const { reader, call } = account;
  const datastores = await readDatastores(account, applications, window);
  const subject = (scope: FamilyScope, { id }: Application, hostKey: string | undefined): MetricDataSubject => ({
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
    const database = databaseKind(values, application.language, configured(application.id));
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

function keyTransactionLabels({ id, name }: KeyTransaction): Labels {
  return { key_transaction: name, key_transaction_id: String(id) };
}

function ownerOf({ applicationId }: KeyTransaction): Labels {
  return { app_id: applicationId === undefined ? '' : String(applicationId) };
}

function hostLabels({ application, host }: HostOf): Labels {
  return { ...applicationLabels(application), host: host.host };
}

/** The alert policy is known to one interface only, so it does not tell series apart. */
function seriesOf(entity: Labels, samples: readonly Sample[]): SideSeries[] {
  return samples.flatMap(({ family: { name }, labels = {}, value }) => {
    const family = FAMILY_OF.get(name);
    const known = Object.entries(labels).filter(([label]) => label !== 'alert_policy_id');
    return family === undefined ? [] : [{ family, labels: { ...entity, ...Object.fromEntries(known) }, value }];
  });
}

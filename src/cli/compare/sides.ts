import type {
  ApplicationSubject,
  MetricDataResult,
  MetricDataSubject,
  RollingSubject,
  TimeRange,
} from '../../api/upstreamReader.ts';
import type { Application, Host, KeyTransaction, RollingValues } from '../../api/types.ts';
import type { DatabaseComponent } from '../../config/config.ts';
import { databaseKind, type DatabaseChoice } from '../../formulas/responseTimes.ts';
import { FAMILIES } from '../../metrics/catalogue.ts';
import type { CatalogueFamily, FamilyScope } from '../../metrics/family.ts';
import type { Labels, Sample } from '../../metrics/sample.ts';
import { listedFamilySamples } from '../../metrics/listedFamilies.ts';
import type { WindowValues } from '../../formulas/metricInputs.ts';
import { queryNames, windowSamples } from '../../metrics/windowFamilies.ts';
import { readEach } from '../upstream/readForCommand.ts';
import type { LiveAccount } from '../upstream/session.ts';

/** One series as one interface has it. */
export interface SideSeries {
  readonly family: CatalogueFamily;
  /** The labels that identify it within its family, with readable names; the host by its name. */
  readonly labels: Labels;
  readonly value: number;
}

/** The data of one interface about the chosen applications over one window. */
export interface Side {
  readonly series: readonly SideSeries[];
  /** The listed entities, as entityKey names them: twice where two hosts share a name. */
  readonly entities: readonly string[];
}

interface HostOf {
  readonly application: Application;
  readonly host: Host;
}

/** An application, a host or a key transaction: the labels of its series, the subject of its rolling values, and its state. */
interface ComparedEntity {
  readonly labels: Labels;
  readonly subject: RollingSubject;
  readonly samples: (rolling: RollingValues | undefined) => readonly Sample[];
}

const FAMILY_OF: ReadonlyMap<string, CatalogueFamily> = new Map(FAMILIES.map((family) => [family.name, family]));

/**
 * Reads everything that both interfaces may have about the chosen applications that both list. Applications that only this side
 * lists are not read any further. Rejects with the first failure.
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
  const entities = [applications.map(ofApplication), hosts.map(ofHost), keyTransactions.map(ofKeyTransaction)];
  const [state, window] = await Promise.all([
    Promise.all(entities.map((ofKind) => readState(account, ofKind, options.window))),
    readWindow(account, applications, hosts, options.window, options.database),
  ]);
  const onlyListed = alone.map(ofApplication);
  const listed = onlyListed
    .flatMap(({ labels, samples }) => seriesOf(labels, samples(undefined)))
    .filter(({ family }) => family.name === 'newrelic_application_info');
  return {
    series: [...state.flat(), ...window, ...listed],
    entities: [...entities.flat(), ...onlyListed].map(({ labels }) => entityKey(labels)),
  };
}

/** Names an entity in the way that both interfaces share: by ids, and the host by its name. */
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

/** The state and the rolling values of entities of one kind. */
async function readState(
  { reader: { rolling }, call }: LiveAccount,
  entities: readonly ComparedEntity[],
  window: TimeRange,
): Promise<SideSeries[]> {
  const read =
    rolling === undefined
      ? entities.map((entity) => [entity, undefined] as const)
      : await readEach(rolling, entities, ({ subject }) => subject, window, call);
  return read.flatMap(([{ labels, samples }, values]) => seriesOf(labels, samples(values)));
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
    metrics: reader.select(queryNames(datastores.get(id) ?? [], scope, reader.api)),
  });
  const [ofApplications, ofHosts] = await Promise.all([
    readEach(reader.metricData, applications, (each) => subject('application', each, undefined), window, call),
    readEach(reader.metricData, hosts, (each) => subject('host', each.application, each.host.key), window, call),
  ]);
  const databases = new Map<number, DatabaseChoice | undefined>();
  const series: SideSeries[] = [];
  for (const [application, result] of ofApplications) {
    const values = valuesOf(result);
    const database = databaseKind(values, application.language, configured(application.id));
    databases.set(application.id, database);
    series.push(...seriesOf(applicationLabels(application), windowSamples('application', values, database)));
  }
  for (const [each, result] of ofHosts) {
    const samples = windowSamples('host', valuesOf(result), databases.get(each.application.id));
    series.push(...seriesOf(hostLabels(each), samples));
  }
  return series;
}

function valuesOf({ window: { from, to }, metrics }: MetricDataResult): WindowValues {
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

function ofApplication(application: Application): ComparedEntity {
  return {
    labels: applicationLabels(application),
    subject: { kind: 'application', applicationId: application.id },
    samples: (rolling) => listedFamilySamples('applications', application, rolling),
  };
}

function ofHost(each: HostOf): ComparedEntity {
  return {
    labels: hostLabels(each),
    subject: { kind: 'host', applicationId: each.application.id, hostKey: each.host.key },
    samples: (rolling) => listedFamilySamples('hosts', each.host, rolling),
  };
}

function ofKeyTransaction(transaction: KeyTransaction): ComparedEntity {
  const { id, name, applicationId = '' } = transaction;
  return {
    labels: { key_transaction: name, key_transaction_id: String(id) },
    subject: { kind: 'key_transaction', keyTransactionId: id },
    samples: (rolling) =>
      listedFamilySamples('key_transactions', transaction, rolling).map((sample) =>
        // The series of both interfaces are compared by the key transaction alone; its info names the application.
        sample.family.name === 'newrelic_key_transaction_info'
          ? { ...sample, labels: { ...sample.labels, app_id: String(applicationId) } }
          : sample,
      ),
  };
}

/** The alert policy is known to one interface only, so it does not identify a series. */
function seriesOf(entity: Labels, samples: readonly Sample[]): SideSeries[] {
  return samples.flatMap(({ family: { name }, labels = {}, value }) => {
    const family = FAMILY_OF.get(name);
    const known = Object.entries(labels).filter(([label]) => label !== 'alert_policy_id');
    return family === undefined ? [] : [{ family, labels: { ...entity, ...Object.fromEntries(known) }, value }];
  });
}

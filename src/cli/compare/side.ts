import type { MetricDataSubject, RollingSubject, TimeRange } from '../../api/reader.ts';
import type { Application, Host, KeyTransaction, RollingValues } from '../../api/types.ts';
import { effectiveSettings } from '../../collect/inventory/selection.ts';
import { databaseKind } from '../../formulas/databaseKind.ts';
import type { DatabaseChoice } from '../../formulas/databaseKind.ts';
import type { WindowValues } from '../../formulas/inputs.ts';
import type { Scope } from '../../metrics/family.ts';
import type { Labels, Sample } from '../../metrics/sample.ts';
import { applicationSamples, hostSamples, keyTransactionSamples } from '../../metrics/samples.ts';
import { toWindowValues } from '../../metrics/windowValues.ts';
import { queryNames, windowSamples } from '../../metrics/window.ts';
import { readAll, valueOf } from '../upstream/reading.ts';
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

export interface SideOptions {
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
  const subjects = applications.map(({ id }) => ({ applicationId: id }));
  const lists = (await readAll(reader.hosts, subjects, window, call)).map(valueOf);
  return applications.flatMap((application, index) => (lists[index] ?? []).map((host) => ({ application, host })));
}

async function readKeyTransactions(
  { config, reader, call }: LiveAccount,
  applications: readonly Application[],
): Promise<KeyTransaction[]> {
  if (config.key_transactions === false) return [];
  const chosen = new Set(applications.map(({ id }) => id));
  const list = await reader.listKeyTransactions({}, call);
  return list.filter(({ applicationId }) => applicationId !== undefined && chosen.has(applicationId));
}

async function readState(
  { reader, call }: LiveAccount,
  applications: readonly Application[],
  hosts: readonly HostOf[],
  keyTransactions: readonly KeyTransaction[],
  window: TimeRange,
): Promise<SideSeries[]> {
  const subjects: RollingSubject[] = [
    ...applications.map(({ id }) => ({ kind: 'application' as const, applicationId: id })),
    ...hosts.map(({ application, host }) => ({
      kind: 'host' as const,
      applicationId: application.id,
      hostKey: host.key,
    })),
    ...keyTransactions.map(({ id }) => ({ kind: 'key_transaction' as const, keyTransactionId: id })),
  ];
  const rolling: readonly (RollingValues | undefined)[] =
    reader.rolling === undefined ? [] : (await readAll(reader.rolling, subjects, window, call)).map(valueOf);
  const afterApplications = applications.length + hosts.length;
  return [
    ...applications.flatMap((application, index) =>
      seriesOf(ofApplication(application), applicationSamples(application, rolling[index])),
    ),
    ...hosts.flatMap(({ application, host }, index) =>
      seriesOf(ofHost(application, host), hostSamples(host, rolling[applications.length + index])),
    ),
    ...keyTransactions.flatMap((each, index) =>
      seriesOf(
        { key_transaction: each.name, key_transaction_id: String(each.id) },
        keyTransactionSamples(each, rolling[afterApplications + index]),
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
  const subjects = [
    ...applications.map((application) => subject('application', application, undefined)),
    ...hosts.map(({ application, host }) => subject('host', application, host.key)),
  ];
  const outcomes = await readAll(reader.metricData, subjects, window, call);
  const values = outcomes.map((outcome) => toWindowValues(valueOf(outcome).data));
  const valuesAt = (index: number): WindowValues => values[index] ?? new Map();
  const databases = new Map<number, DatabaseChoice | undefined>(
    applications.map((application, index) => {
      const { database } = effectiveSettings(config, application);
      return [application.id, databaseKind(valuesAt(index), application.language, database)];
    }),
  );
  return [
    ...applications.flatMap((application, index) => {
      const samples = windowSamples('application', valuesAt(index), databases.get(application.id));
      return seriesOf(ofApplication(application), samples);
    }),
    ...hosts.flatMap(({ application, host }, index) => {
      const samples = windowSamples('host', valuesAt(applications.length + index), databases.get(application.id));
      return seriesOf(ofHost(application, host), samples);
    }),
  ];
}

async function readDatastores(
  { reader, call }: LiveAccount,
  applications: readonly Application[],
  window: TimeRange,
): Promise<ReadonlyMap<number, readonly string[]>> {
  if (reader.datastores === undefined) return new Map();
  const subjects = applications.map(({ id }) => ({ applicationId: id }));
  const lists = (await readAll(reader.datastores, subjects, window, call)).map(valueOf);
  return new Map(applications.map(({ id }, index) => [id, lists[index] ?? []]));
}

function ofApplication({ id, name }: Application): Labels {
  return { app: name, app_id: String(id) };
}

function ofHost(application: Application, host: Host): Labels {
  return { ...ofApplication(application), host: host.host };
}

/** The alert policy is known to one interface only, so it does not tell series apart. */
function seriesOf(entity: Labels, samples: readonly Sample[]): SideSeries[] {
  return samples.map(({ family, labels = {}, value }) => {
    const known = Object.entries(labels).filter(([name]) => name !== 'alert_policy_id');
    return { family: family.name, labels: { ...entity, ...Object.fromEntries(known) }, value };
  });
}

import type {
  ApplicationSubject,
  BatchRead,
  MetricDataResult,
  RollingSubject,
  TimeRange,
} from '../../api/upstreamReader.ts';
import type { Application, Host, KeyTransaction, RollingValues } from '../../api/types.ts';
import type { DatabaseComponent } from '../../config/config.ts';
import { databaseKind } from '../../formulas/responseTimes.ts';
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
  /** The keys of the listed entities, from `entityKey`. Two hosts with one name give the same key twice. */
  readonly entities: readonly string[];
}

/** An application, a host or a key transaction: the labels of its series, and how its rolling values are read and shown. */
interface ComparedEntity {
  readonly labels: Labels;
  readonly subject: RollingSubject;
  readonly samples: (rolling: RollingValues | undefined) => readonly Sample[];
}

/**
 * Reads everything that both interfaces may have about the chosen applications. Rejects with the first failure.
 *
 * @param chosen.applications the chosen ones that both interfaces list
 * @param chosen.alone the chosen ones that only this interface lists: without a counterpart, their metric data are not read
 * @param options.database the database kind that the configuration sets for an application
 */
export async function readSide(
  { reader, call }: LiveAccount,
  chosen: {
    readonly applications: readonly Application[];
    readonly alone: readonly Application[];
    readonly keyTransactions: readonly KeyTransaction[];
  },
  {
    window,
    ...options
  }: {
    readonly window: TimeRange;
    readonly hosts: boolean;
    readonly database: (applicationId: number) => DatabaseComponent;
  },
): Promise<Side> {
  const { applications, keyTransactions } = chosen;
  // Key transactions with unread details would be reported as differences.
  for (const { unread } of keyTransactions) if (unread !== undefined) throw unread;
  const read = <I, S, A>(kind: BatchRead<S, A>, items: readonly I[], subjectOf: (item: I) => S) =>
    readEach(kind, items, subjectOf, window, call);
  const lists = options.hosts ? await read(reader.hosts, applications, subjectOf) : [];
  const hosts = lists.flatMap(([application, list]) => list.map((host) => ({ application, host })));
  const datastores = new Map(reader.datastores && (await read(reader.datastores, applications, subjectOf)));
  const metricsOf = (scope: FamilyScope, application: Application, hostKey?: string) => ({
    ...subjectOf(application),
    hostKey,
    metrics: { names: queryNames(datastores.get(application) ?? [], scope, reader.api) },
  });
  const entities = [
    applications.map(ofApplication),
    hosts.map(({ application, host }) => ofHost(application, host)),
    keyTransactions.map(ofKeyTransaction),
  ];
  const { rolling } = reader;
  const [rollingByKind, applicationData, hostData] = await Promise.all([
    rolling && Promise.all(entities.map((ofKind) => read(rolling, ofKind, ({ subject }) => subject))),
    read(reader.metricData, applications, (each) => metricsOf('application', each)),
    read(reader.metricData, hosts, ({ application, host }) => metricsOf('host', application, host.key)),
  ]);
  const rollingOf = new Map(rollingByKind?.flat());
  const databases = new Map(
    applicationData.map(([each, result]) => {
      const { id, language } = each;
      return [id, databaseKind(valuesOf(result), language, options.database(id))];
    }),
  );
  const listed = [...entities.flat(), ...chosen.alone.map(ofApplication)];
  return {
    series: [
      ...entities.flat().flatMap((each) => seriesOf(each.labels, each.samples(rollingOf.get(each)))),
      ...applicationData.flatMap(([each, result]) =>
        seriesOf(applicationLabels(each), windowSamples('application', valuesOf(result), databases.get(each.id))),
      ),
      ...hostData.flatMap(([each, result]) =>
        seriesOf(
          hostLabels(each.application, each.host),
          windowSamples('host', valuesOf(result), databases.get(each.application.id)),
        ),
      ),
      // One series is enough to show that the other interface does not list the application.
      ...chosen.alone
        .flatMap((each) => seriesOf(applicationLabels(each), ofApplication(each).samples(undefined)))
        .filter(({ family }) => family.name === 'newrelic_application_info'),
    ],
    entities: listed.map(({ labels }) => entityKey(labels)),
  };
}

/** The key of an entity. A host stands in it with its name, because the two interfaces do not share the ids of hosts. */
export function entityKey({ app_id, host, key_transaction_id }: Labels): string {
  if (key_transaction_id !== undefined) return JSON.stringify(['key transaction', key_transaction_id]);
  return JSON.stringify(host === undefined ? ['application', app_id] : ['host', app_id, host]);
}

function valuesOf({ window: { from, to }, metrics }: MetricDataResult): WindowValues {
  return { seconds: to - from, metrics };
}

function subjectOf({ id }: Application): ApplicationSubject {
  return { applicationId: id };
}

function applicationLabels({ id, name }: Application): Labels {
  return { app: name, app_id: String(id) };
}

function hostLabels(application: Application, { host }: Host): Labels {
  return { ...applicationLabels(application), host };
}

function ofApplication(application: Application): ComparedEntity {
  return {
    labels: applicationLabels(application),
    subject: { applicationId: application.id },
    samples: (rolling) => listedFamilySamples('applications', application, rolling),
  };
}

function ofHost(application: Application, host: Host): ComparedEntity {
  return {
    labels: hostLabels(application, host),
    subject: { applicationId: application.id, hostKey: host.key },
    samples: (rolling) => listedFamilySamples('hosts', host, rolling),
  };
}

function ofKeyTransaction(transaction: KeyTransaction): ComparedEntity {
  const { id, name, applicationId = '' } = transaction;
  return {
    labels: { key_transaction: name, key_transaction_id: String(id) },
    subject: { keyTransactionId: id },
    samples: (rolling) =>
      listedFamilySamples('key_transactions', transaction, rolling).map((sample) =>
        // Only its info is compared with the application, so that another owner is one difference and not one for each series.
        sample.family.name === 'newrelic_key_transaction_info'
          ? { ...sample, labels: { ...sample.labels, app_id: String(applicationId) } }
          : sample,
      ),
  };
}

const FAMILY_OF: ReadonlyMap<string, CatalogueFamily> = new Map(FAMILIES.map((family) => [family.name, family]));

/** The samples of an entity as series, without the label of the alert policy, which only one interface knows. */
function seriesOf(entity: Labels, samples: readonly Sample[]): SideSeries[] {
  return samples.flatMap(({ family: { name }, labels = {}, value }) => {
    const family = FAMILY_OF.get(name);
    const known = Object.entries(labels).filter(([label]) => label !== 'alert_policy_id');
    return family === undefined ? [] : [{ family, labels: { ...entity, ...Object.fromEntries(known) }, value }];
  });
}

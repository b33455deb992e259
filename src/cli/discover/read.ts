import type { ApplicationSubject, BatchRead, Outcome } from '../../api/reader.ts';
import type { Application, Host, Instance, KeyTransaction } from '../../api/types.ts';
import { windowAt } from '../../collect/schedule/window.ts';
import type { Config } from '../../config/config.ts';
import type { Progress } from '../terminal/progress.ts';
import { readAll } from '../upstream/reading.ts';
import type { LiveAccount } from '../upstream/session.ts';
import type { Named } from './places.ts';

/** An application with its hosts and instances; a list that could not be read is undefined. */
export interface DiscoveredApplication {
  readonly application: Application;
  readonly hosts: readonly Host[] | undefined;
  readonly instances: readonly Instance[] | undefined;
}

/** What was read of one account. */
export interface Discovered {
  readonly account: string;
  /** False: only what was named was read, so what is missing here may exist. */
  readonly everything: boolean;
  /** False: its interface knows no instances. */
  readonly hasInstances: boolean;
  readonly applications: readonly DiscoveredApplication[];
  /** Undefined: the list could not be read. */
  readonly keyTransactions: readonly KeyTransaction[] | undefined;
}

/** What the reading of an account goes on with. */
export interface Reading {
  readonly account: LiveAccount;
  readonly collection: Config['collection'];
  readonly progress: Pick<Progress, 'update'>;
  /** Told of each list that cannot be read; what it throws ends the reading. */
  readonly note: (what: string, error: unknown) => void;
}

/**
 * Reads all lists of an account: whatever its key can see, filters of the configuration aside. Rejects when there is no
 * application list.
 */
export async function readEverything(reading: Reading): Promise<Discovered> {
  const { config, reader, call } = reading.account;
  const list = await reader.listApplications({}, call);
  const keyTransactions = reader.listKeyTransactions({}, call).then(
    (all) => {
      for (const { id, name, unread } of all) {
        if (unread !== undefined) reading.note(`the application of key transaction ${id} (${name})`, unread);
      }
      return all;
    },
    (error: unknown) => {
      reading.note('the key transaction list', error);
      return undefined;
    },
  );
  const applications = await withMachines(list, reading);
  return {
    account: config.name,
    everything: true,
    hasInstances: reader.instances !== undefined,
    applications,
    keyTransactions: await keyTransactions,
  };
}

/** Reads the hosts and instances of the applications that were named. */
export async function readNamed(reading: Reading, named: Named): Promise<Discovered> {
  const { config, reader } = reading.account;
  return {
    account: config.name,
    everything: false,
    hasInstances: reader.instances !== undefined,
    applications: await withMachines([...named.applications.values()], reading),
    keyTransactions: [...named.keyTransactions.values()],
  };
}

async function withMachines(
  applications: readonly Application[],
  { account: { reader, call }, collection, progress, note }: Reading,
): Promise<DiscoveredApplication[]> {
  const subjects = applications.map(({ id }) => ({ applicationId: id }));
  const range = windowAt(Date.now(), collection);
  const lists = reader.instances === undefined ? 1 : 2;
  let done = 0;
  const read = (some: number): void => {
    done += some;
    progress.update(Math.floor(done / lists), applications.length);
  };
  const readList = async <A>(kind: BatchRead<ApplicationSubject, A> | undefined): Promise<readonly Outcome<A>[]> =>
    kind === undefined ? [] : readAll(kind, subjects, range, call, read);
  const [hosts, instances] = await Promise.all([readList(reader.hosts), readList(reader.instances)]);
  const valueOf = <A>(outcome: Outcome<A> | undefined, list: string, { id, name }: Application): A | undefined => {
    if (outcome === undefined || 'value' in outcome) return outcome?.value;
    note(`the ${list} list of application ${id} (${name})`, outcome.error);
    return undefined;
  };
  return applications.map((application, index) => ({
    application,
    hosts: valueOf(hosts[index], 'host', application),
    instances: valueOf(instances[index], 'instance', application),
  }));
}

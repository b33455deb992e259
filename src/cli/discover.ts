import process from 'node:process';
import { Document } from 'yaml';
import type { Application, KeyTransaction, Host, Instance } from '../api/types.ts';
import { findApplication, isNotFound, readAll } from './upstream/reading.ts';
import { type LiveAccount, type LiveSession, withAccounts } from './upstream/session.ts';
import type { ApplicationSubject, BatchRead, Outcome } from '../api/reader.ts';
import { windowAt } from '../collect/due.ts';
import type { Config } from '../config/config.ts';
import { type Progress, table, showProgress } from './terminal.ts';
import { escapeUnsafe, errorText } from '../log/logger.ts';
import type { CommonOptions } from './flags.ts';
import { ExitStatus } from './process.ts';

/** What was named on the command line, as found in one account. */
export interface Named {
  readonly applications: Map<number, Application>;
  readonly keyTransactions: Map<number, KeyTransaction>;
}

/** What was named, by the account in which it is. */
export type Places = ReadonlyMap<LiveAccount, Named>;

/**
 * Finds the applications and key transactions that were named; ids are read by id. Throws an Error whose message is a
 * sentence when one of them is in no account.
 */
export async function whereIs(
  { accounts }: LiveSession,
  apps: readonly string[],
  keyTransactions: readonly number[],
): Promise<Places> {
  const places = new Map<LiveAccount, Named>();
  const at = (account: LiveAccount): Named => {
    const named = places.get(account) ?? { applications: new Map(), keyTransactions: new Map() };
    places.set(account, named);
    return named;
  };
  for (const app of apps) {
    const { account, application } = await findApplication(accounts, app);
    at(account).applications.set(application.id, application);
  }
  for (const id of keyTransactions) {
    const { account, keyTransaction } = await findKeyTransaction(accounts, id);
    at(account).keyTransactions.set(id, keyTransaction);
  }
  return places;
}

async function findKeyTransaction(
  accounts: readonly LiveAccount[],
  id: number,
): Promise<{ readonly account: LiveAccount; readonly keyTransaction: KeyTransaction }> {
  const attempts = await Promise.allSettled(accounts.map(({ reader, call }) => reader.readKeyTransaction(id, call)));
  const failures: Error[] = [];
  for (const [index, account] of accounts.entries()) {
    const attempt = attempts[index];
    if (attempt?.status === 'fulfilled') return { account, keyTransaction: attempt.value };
    if (attempt === undefined || isNotFound(attempt.reason)) continue;
    const message = `account ${account.config.name}: key transaction ${id} cannot be read`;
    failures.push(new Error(message, { cause: attempt.reason }));
  }
  throw failures[0] ?? new Error(`no key transaction has the id ${id}: the command discover lists them`);
}

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

export type DiscoverFormat = 'table' | 'yaml' | 'json';

/** Stands for a number that could not be read. */
const UNKNOWN = '?';

/** What was discovered, as text that ends in a line feed. */
export function formatDiscovered(found: readonly Discovered[], format: DiscoverFormat): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify({ accounts: found.map(asJson) }, undefined, 2)}\n`;
    case 'yaml':
      return found.map(asYaml).join('---\n');
    case 'table':
      return found.map(asTables).join('\n');
  }
}

function asJson({ account, applications, keyTransactions }: Discovered): object {
  return {
    account,
    applications: applications.map(({ application, hosts, instances }) => ({
      id: application.id,
      name: application.name,
      language: application.language ?? null,
      reporting: application.reporting ?? null,
      health_status: application.healthStatus ?? null,
      tags: application.tags === undefined ? null : application.tags.map(({ key, values }) => ({ key, values })),
      hosts: hosts?.map(({ key, host }) => ({ id: asId(key), host })) ?? null,
      instances: instances?.map(({ id, host, port }) => ({ id, host, port: port ?? null })) ?? null,
    })),
    key_transactions:
      keyTransactions?.map((transaction) => ({
        id: transaction.id,
        name: transaction.name,
        transaction_name: transaction.transactionName ?? null,
        application_id: transaction.applicationId ?? null,
        reporting: transaction.reporting ?? null,
      })) ?? null,
  };
}

/** A list that can stand under `applications.include`; the names are comments, because ids survive a renaming. */
function asYaml({ account, applications }: Discovered): string {
  const document = new Document(applications.map(({ application }) => ({ id: application.id })));
  const comments = applications.map(({ application, hosts }) =>
    [
      ...[application.name, application.language, stateOf(application), `${hosts?.length ?? UNKNOWN} hosts`],
      ...(application.tags ?? []).map(tagText),
    ].join(', '),
  );
  const lines = document.toString().trimEnd().split('\n');
  const entries =
    applications.length === 0 ? lines : lines.map((line, index) => `${line} # ${escapeUnsafe(comments[index] ?? '')}`);
  return [`# account ${account}: under applications.include`, ...entries, ''].join('\n');
}

type Rows = readonly (readonly (string | number)[])[];

function asTables(discovered: Discovered): string {
  const sections: [string, Rows][] = [
    ['applications', applicationRows(discovered)],
    ['hosts', hostRows(discovered)],
    ...(discovered.hasInstances ? [['instances', instanceRows(discovered)] as [string, Rows]] : []),
    ['key transactions', keyTransactionRows(discovered)],
  ];
  const isShown = (rows: Rows): boolean => discovered.everything || rows.length > 1;
  return sections
    .filter(([, rows]) => isShown(rows))
    .map(([what, rows]) => {
      const heading = `Account ${discovered.account}: ${rows.length - 1} ${what}\n`;
      return rows.length > 1 ? `${heading}${table(rows)}\n` : heading;
    })
    .join('\n');
}

function applicationRows({ applications, hasInstances }: Discovered): Rows {
  const hasTags = applications.some(({ application }) => application.tags !== undefined);
  const more = [...(hasInstances ? ['INSTANCES'] : []), ...(hasTags ? ['TAGS'] : [])];
  return [
    ['ID', 'NAME', 'LANGUAGE', 'STATE', 'HEALTH', 'HOSTS', ...more],
    ...applications.map(({ application, hosts, instances }) => [
      application.id,
      application.name,
      application.language ?? '',
      stateOf(application),
      application.healthStatus ?? '',
      hosts?.length ?? UNKNOWN,
      ...(hasInstances ? [instances?.length ?? UNKNOWN] : []),
      ...(hasTags ? [(application.tags ?? []).map(tagText).join(' ')] : []),
    ]),
  ];
}

function hostRows({ applications }: Discovered): Rows {
  return [
    ['ID', 'HOST', 'APPLICATION ID', 'APPLICATION'],
    ...applications.flatMap(({ application, hosts }) =>
      (hosts ?? []).map(({ key, host }) => [key, host, application.id, application.name]),
    ),
  ];
}

function instanceRows({ applications }: Discovered): Rows {
  return [
    ['ID', 'HOST', 'PORT', 'APPLICATION ID', 'APPLICATION'],
    ...applications.flatMap(({ application, instances }) =>
      (instances ?? []).map(({ id, host, port }) => [id, host, port ?? '', application.id, application.name]),
    ),
  ];
}

function keyTransactionRows({ applications, keyTransactions, everything }: Discovered): Rows {
  const names = new Map(applications.map(({ application }) => [application.id, application.name]));
  const unknown = everything ? '(not visible)' : '';
  return [
    ['ID', 'NAME', 'TRANSACTION', 'APPLICATION ID', 'APPLICATION'],
    ...(keyTransactions ?? []).map(({ id, name, transactionName, applicationId }) => [
      id,
      name,
      transactionName ?? '',
      applicationId ?? '',
      applicationId === undefined ? '' : (names.get(applicationId) ?? unknown),
    ]),
  ];
}

/** A tag as the service shows it: `team=shop,web`. */
function tagText({ key, values }: NonNullable<Application['tags']>[number]): string {
  return `${key}=${values.join(',')}`;
}

/** The id of the REST interface is a number; NerdGraph knows a host by its name only. */
function asId(key: string): number | string {
  return /^\d{1,15}$/.test(key) ? Number(key) : key;
}

function stateOf({ reporting }: Application): string {
  if (reporting === undefined) return 'unknown';
  return reporting ? 'reporting' : 'not reporting';
}

export interface DiscoverOptions extends CommonOptions {
  readonly format: DiscoverFormat;
  /** Ids or exact names; without them and without key transactions, everything is listed. */
  readonly app?: readonly string[];
  readonly keyTransaction?: readonly number[];
}

/** The command `discover`. What cannot be read is said on standard error, hides nothing else, and gives status 1. */
export async function runDiscover(options: DiscoverOptions): Promise<void> {
  await withAccounts(options, async (session) => {
    const { app: apps = [], keyTransaction: keyTransactions = [] } = options;
    const places = apps.length + keyTransactions.length > 0 ? await whereIs(session, apps, keyTransactions) : undefined;
    const { found, failures } = await discoverAll(session, places);
    if (found.length > 0) process.stdout.write(formatDiscovered(found, options.format));
    if (failures > 0) throw new ExitStatus(1);
  });
}

async function discoverAll(
  { accounts, config, signal }: LiveSession,
  places: Places | undefined,
): Promise<{ readonly found: readonly Discovered[]; readonly failures: number }> {
  const found: Discovered[] = [];
  let failures = 0;
  for (const account of accounts) {
    const { name } = account.config;
    const note = (what: string, error: unknown): void => {
      signal.throwIfAborted();
      failures += 1;
      process.stderr.write(`account ${name}: ${escapeUnsafe(what)} cannot be read: ${errorText(error, false)}\n`);
    };
    const progress = showProgress(`reading hosts and instances of ${name}`);
    const reading: Reading = { account, collection: config.collection, progress, note };
    try {
      const discovered = await read(account, reading, places);
      if (discovered !== undefined) found.push(discovered);
    } catch (error) {
      note('the application list', error);
    } finally {
      progress.stop();
    }
  }
  return { found, failures };
}

function read(account: LiveAccount, reading: Reading, places: Places | undefined): Promise<Discovered | undefined> {
  if (places === undefined) return readEverything(reading);
  const named = places.get(account);
  return named === undefined ? Promise.resolve(undefined) : readNamed(reading, named);
}

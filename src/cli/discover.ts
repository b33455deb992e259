import process from 'node:process';
import { Document } from 'yaml';
import type { ApplicationSubject, BatchRead, TimeRange } from '../api/reader.ts';
import type { Application, Host, Instance, KeyTransaction } from '../api/types.ts';
import { windowAt } from '../collect/window.ts';
import { errorText } from '../log/errorText.ts';
import { escapeUnsafe } from '../log/logfmt.ts';
import { ExitStatus } from './process/exitStatus.ts';
import { readAll } from './upstream/reading.ts';
import { withAccounts, type LiveAccount } from './upstream/session.ts';
import { showProgress, type Progress } from './terminal/progress.ts';
import type { CommonOptions } from './flags/commonFlags.ts';
import { table } from './terminal/table.ts';

export type DiscoverFormat = 'table' | 'yaml' | 'json';

/** An application with its hosts and instances; a list that could not be read is undefined. */
export interface DiscoveredApplication {
  readonly application: Application;
  readonly hosts: readonly Host[] | undefined;
  readonly instances: readonly Instance[] | undefined;
}

/** Everything one account's key can see. */
export interface Discovered {
  readonly account: string;
  readonly applications: readonly DiscoveredApplication[];
  readonly keyTransactions: readonly KeyTransaction[] | undefined;
}

/** The command `discover`. What cannot be read is said on standard error, hides nothing else, and gives status 1. */
export async function runDiscover(options: CommonOptions & { readonly format: DiscoverFormat }): Promise<void> {
  await withAccounts(options, async ({ config, accounts, signal }) => {
    const window = windowAt(Date.now(), config.collection);
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
      try {
        found.push(await discover(account, window, progress, note));
      } catch (error) {
        note('the application list', error);
      } finally {
        progress.stop();
      }
    }
    if (found.length > 0) process.stdout.write(formatDiscovered(found, options.format));
    if (failures > 0) throw new ExitStatus(1);
  });
}

/**
 * Reads all lists of an account: whatever its key can see, filters of the configuration aside. Rejects when there is no
 * application list.
 *
 * @param window the hosts that are listed reported shortly before its end
 * @param note told of every other list that cannot be read; what it throws ends the reading
 */
export async function discover(
  { config, reader, call }: LiveAccount,
  window: TimeRange,
  progress: Pick<Progress, 'update'>,
  note: (what: string, error: unknown) => void,
): Promise<Discovered> {
  const attempt = async <T>(what: string, reading: Promise<T>): Promise<T | undefined> => {
    try {
      return await reading;
    } catch (error) {
      note(what, error);
      return undefined;
    }
  };
  const list = await reader.listApplications({}, call);
  const subjects = list.map(({ id }) => ({ applicationId: id }));
  let done = 0;
  const readLists = async <A>(what: string, read: BatchRead<ApplicationSubject, A> | undefined) => {
    if (read === undefined) return [];
    const outcomes = await readAll(read, subjects, window, call, (more) => {
      done += more;
      progress.update(done, subjects.length * (reader.instances === undefined ? 1 : 2));
    });
    return list.map(({ id, name }, index) => {
      const outcome = outcomes[index];
      if (outcome !== undefined && 'value' in outcome) return outcome.value;
      note(`the ${what} list of application ${id} (${name})`, outcome?.error);
      return undefined;
    });
  };
  const [keyTransactions, hosts, instances] = await Promise.all([
    attempt('the key transaction list', reader.listKeyTransactions({}, call)),
    readLists('host', reader.hosts),
    readLists('instance', reader.instances),
  ]);
  const applications = list.map((application, index) => ({
    application,
    hosts: hosts[index],
    instances: instances[index],
  }));
  return { account: config.name, applications, keyTransactions };
}

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
    [application.name, application.language, stateOf(application), `${hosts?.length ?? UNKNOWN} hosts`].join(', '),
  );
  const lines = document.toString().trimEnd().split('\n');
  const entries =
    applications.length === 0 ? lines : lines.map((line, index) => `${line} # ${escapeUnsafe(comments[index] ?? '')}`);
  return [`# account ${account}: under applications.include`, ...entries, ''].join('\n');
}

function asTables({ account, applications, keyTransactions }: Discovered): string {
  const names = new Map(applications.map(({ application }) => [application.id, application.name]));
  const sections: [string, (string | number)[][]][] = [
    [
      'applications',
      [
        ['ID', 'NAME', 'LANGUAGE', 'STATE', 'HEALTH', 'HOSTS', 'INSTANCES'],
        ...applications.map(({ application, hosts, instances }) => [
          application.id,
          application.name,
          application.language ?? '',
          stateOf(application),
          application.healthStatus ?? '',
          hosts?.length ?? UNKNOWN,
          instances?.length ?? UNKNOWN,
        ]),
      ],
    ],
    [
      'hosts',
      [
        ['ID', 'HOST', 'APPLICATION ID', 'APPLICATION'],
        ...applications.flatMap(({ application, hosts }) =>
          (hosts ?? []).map(({ key, host }) => [key, host, application.id, application.name]),
        ),
      ],
    ],
    [
      'instances',
      [
        ['ID', 'HOST', 'PORT', 'APPLICATION ID', 'APPLICATION'],
        ...applications.flatMap(({ application, instances }) =>
          (instances ?? []).map(({ id, host, port }) => [id, host, port ?? '', application.id, application.name]),
        ),
      ],
    ],
    [
      'key transactions',
      [
        ['ID', 'NAME', 'TRANSACTION', 'APPLICATION ID', 'APPLICATION'],
        ...(keyTransactions ?? []).map(({ id, name, transactionName, applicationId }) => [
          id,
          name,
          transactionName ?? '',
          applicationId ?? '',
          applicationId === undefined ? '' : (names.get(applicationId) ?? '(not visible)'),
        ]),
      ],
    ],
  ];
  return sections
    .map(
      ([what, rows]) => `Account ${account}: ${rows.length - 1} ${what}\n${rows.length > 1 ? `${table(rows)}\n` : ''}`,
    )
    .join('\n');
}

/** The id of the REST interface is a number; NerdGraph knows a host by its name only. */
function asId(key: string): number | string {
  return /^\d{1,15}$/.test(key) ? Number(key) : key;
}

function stateOf({ reporting }: Application): string {
  if (reporting === undefined) return 'unknown';
  return reporting ? 'reporting' : 'not reporting';
}

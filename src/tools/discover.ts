import { Document } from 'yaml';
import type { Application, KeyTransaction, Host, Instance } from '../api/types.ts';
import type { FailureReason } from '../api/upstreamError.ts';
import {
  findApplications,
  findKeyTransactions,
  foundIn,
  isId,
  readAll,
  type FoundRecord,
} from './upstream/readForCommand.ts';
import { type CommandContext, type LiveAccount, reasonOf, withAccounts } from './upstream/session.ts';
import type { ApplicationSubject, BatchRead, Outcome } from '../api/upstreamReader.ts';
import { windowAt } from '../collect/due.ts';
import { counted } from '../config/wording.ts';
import { discoverAccounts, type DiscoverOptions } from './discoverAccounts.ts';
import { discoverEntities, tagText, tellingTags } from './discoverEntities.ts';
import { jsonText, table, showProgress, type Cell } from './terminal.ts';
import { escapeUnsafe, errorText } from '../log/logger.ts';
import { ExitStatus } from '../cli/process.ts';

/**
 * The command `discover`. Each failed read is reported on standard error, leaves the other results intact, and gives status 1.
 */
export async function runDiscover(options: DiscoverOptions): Promise<void> {
  if (options.accounts) return discoverAccounts(options);
  if (options.entities !== undefined) return discoverEntities(options);
  await withAccounts(options, async (session) => {
    const { accounts } = session;
    const { app: apps = [], keyTransaction: ids = [], format } = options;
    const named =
      apps.length + ids.length === 0
        ? undefined
        : ([await findApplications(accounts, apps), await findKeyTransactions(accounts, ids)] as const);
    const found: Discovered[] = [];
    let failures = 0;
    for (const account of accounts) {
      const { name } = account.config;
      const note: Note = (what, error, reason) => {
        session.signal.throwIfAborted();
        failures += 1;
        session.complain(`account ${name}: ${what} cannot be read: ${errorText(error, false)}`, reason);
      };
      const lists = named === undefined ? await readLists(account, note) : listsOfNamed(account, ...named);
      if (lists !== undefined) found.push(await withHostsAndInstances(account, lists, session, note));
    }
    if (found.length > 0) session.print(formatDiscovered(found, format));
    if (failures > 0) throw new ExitStatus(1);
  });
}

/** Reports a failed read, with the remedy for the reason if there is one; throws if the command has been stopped. */
type Note = (what: string, error: unknown, reason?: FailureReason) => void;

interface Discovered {
  readonly account: string;
  /** False when only named entities were read, so that the account may have others. */
  readonly everything: boolean;
  /** False when the account's interface has no instances. */
  readonly hasInstances: boolean;
  /** The applications with their hosts and instances; a list that could not be read is undefined. */
  readonly applications: readonly {
    readonly application: Application;
    readonly hosts: readonly Host[] | undefined;
    readonly instances: readonly Instance[] | undefined;
  }[];
  /** Undefined: the list could not be read. */
  readonly keyTransactions: readonly KeyTransaction[] | undefined;
}

/** Everything that the key can see, without the configuration's filters; undefined if the application list cannot be read. */
async function readLists({ reader, call }: LiveAccount, note: Note) {
  const orNote = <T>(list: Promise<T>, what: string): Promise<T | undefined> =>
    list.catch((error: unknown) => {
      note(what, error, reasonOf(error));
      return undefined;
    });
  const applications = await orNote(reader.listApplications({}, call), 'the application list');
  if (applications === undefined) return undefined;
  const keyTransactions = await orNote(reader.listKeyTransactions({}, call), 'the key transaction list');
  for (const { id, name, unread } of keyTransactions ?? []) {
    if (unread !== undefined) note(`the application of key transaction ${id} (${name})`, unread);
  }
  return { everything: true, applications, keyTransactions };
}

/** The named entities of an account; undefined when there are none. */
function listsOfNamed(
  account: LiveAccount,
  foundApplications: readonly FoundRecord<Application>[],
  foundTransactions: readonly FoundRecord<KeyTransaction>[],
) {
  const applications = foundIn(account, foundApplications);
  const keyTransactions = foundIn(account, foundTransactions);
  return applications.length + keyTransactions.length === 0
    ? undefined
    : { everything: false, applications, keyTransactions };
}

async function withHostsAndInstances(
  { config, reader, call }: LiveAccount,
  lists: Pick<Discovered, 'everything' | 'keyTransactions'> & { readonly applications: readonly Application[] },
  { config: { collection } }: CommandContext,
  note: Note,
): Promise<Discovered> {
  const { applications } = lists;
  const subjects = applications.map(({ id }) => ({ applicationId: id }));
  const range = windowAt(Date.now(), collection);
  const progress = showProgress(`reading hosts and instances of ${config.name}`);
  const hasInstances = reader.instances !== undefined;
  let done = 0;
  const onRead = (count: number): void => {
    done += count;
    progress.update(Math.floor(done / (hasInstances ? 2 : 1)), applications.length);
  };
  const readList = async <A>(kind: BatchRead<ApplicationSubject, A> | undefined): Promise<readonly Outcome<A>[]> =>
    kind === undefined ? [] : readAll(kind, subjects, range, call, onRead);
  const valueOf = <A>(outcome: Outcome<A> | undefined, list: string, { id, name }: Application): A | undefined => {
    if (outcome === undefined || 'value' in outcome) return outcome?.value;
    note(`the ${list} list of application ${id} (${name})`, outcome.error);
    return undefined;
  };
  try {
    const [hosts, instances] = await Promise.all([readList(reader.hosts), readList(reader.instances)]);
    return {
      ...lists,
      account: config.name,
      hasInstances,
      applications: applications.map((application, index) => ({
        application,
        hosts: valueOf(hosts[index], 'host', application),
        instances: valueOf(instances[index], 'instance', application),
      })),
    };
  } finally {
    progress.stop();
  }
}

const UNKNOWN = '?';

/** The discovered entities, as text that ends in a line feed. */
function formatDiscovered(found: readonly Discovered[], format: DiscoverOptions['format']): string {
  switch (format) {
    case 'json':
      return jsonText({ accounts: found.map(asJson) });
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

/** A list for `applications.include`; the names are comments, because ids survive a renaming. */
function asYaml({ account, applications }: Discovered): string {
  const document = new Document(applications.map(({ application }) => ({ id: application.id })));
  const comments = applications.map(({ application, hosts }) =>
    [
      ...[
        application.name,
        application.language,
        stateOf(application),
        hosts === undefined ? `${UNKNOWN} hosts` : counted(hosts.length, 'host'),
      ],
      ...(application.tags ?? []).map(tagText),
    ].join(', '),
  );
  const lines = document.toString().trimEnd().split('\n');
  const entries =
    applications.length === 0 ? lines : lines.map((line, index) => `${line} # ${escapeUnsafe(comments[index] ?? '')}`);
  return [`# account ${escapeUnsafe(account)}: under applications.include`, ...entries, ''].join('\n');
}

type TableRows = Parameters<typeof table>[0];

function asTables(discovered: Discovered): string {
  const sections: [string, TableRows][] = [
    ['application', applicationRows(discovered)],
    ['host', hostRows(discovered)],
    ...(discovered.hasInstances ? [['instance', instanceRows(discovered)] as [string, TableRows]] : []),
    ['key transaction', keyTransactionRows(discovered)],
  ];
  const isShown = (rows: TableRows): boolean => discovered.everything || rows.length > 1;
  return sections
    .filter(([, rows]) => isShown(rows))
    .map(([what, rows]) => {
      const heading = `Account ${escapeUnsafe(discovered.account)}: ${counted(rows.length - 1, what)}\n`;
      return rows.length > 1 ? `${heading}${table(rows)}\n` : heading;
    })
    .join('\n');
}

function applicationRows({ applications, hasInstances }: Discovered): TableRows {
  const hasTags = applications.some(({ application }) => application.tags !== undefined);
  const more = [...(hasInstances ? ['INSTANCES'] : []), ...(hasTags ? ['TAGS'] : [])];
  return [
    ['ID', 'NAME', 'LANGUAGE', 'STATE', 'HEALTH', 'HOSTS', ...more],
    ...applications.map(({ application, hosts, instances }): readonly Cell[] => [
      application.id,
      application.name,
      application.language ?? '',
      { text: stateOf(application), style: application.reporting === false ? 'dim' : [] },
      { text: application.healthStatus ?? '', style: HEALTH_STYLES[application.healthStatus ?? ''] ?? [] },
      hosts?.length ?? UNKNOWN,
      ...(hasInstances ? [instances?.length ?? UNKNOWN] : []),
      ...(hasTags ? [tellingTags(application.tags ?? [])] : []),
    ]),
  ];
}

function hostRows({ applications, hasInstances }: Discovered): TableRows {
  return [
    // An interface without instances knows a host by its name alone.
    [...(hasInstances ? ['ID'] : []), 'HOST', 'APPLICATION ID', 'APPLICATION'],
    ...applications.flatMap(({ application, hosts }) =>
      (hosts ?? []).map(({ key, host }) => [...(hasInstances ? [key] : []), host, application.id, application.name]),
    ),
  ];
}

function instanceRows({ applications }: Discovered): TableRows {
  return [
    ['ID', 'HOST', 'PORT', 'APPLICATION ID', 'APPLICATION'],
    ...applications.flatMap(({ application, instances }) =>
      (instances ?? []).map(({ id, host, port }) => [id, host, port ?? '', application.id, application.name]),
    ),
  ];
}

function keyTransactionRows({ applications, keyTransactions, everything }: Discovered): TableRows {
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

const HEALTH_STYLES: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  green: 'green',
  orange: 'yellow',
  red: 'red',
};

/** The key as an id: a number over REST; NerdGraph knows a host only by its name. */
function asId(key: string): number | string {
  return isId(key) ? Number(key) : key;
}

function stateOf({ reporting }: Application): string {
  if (reporting === undefined) return 'unknown';
  return reporting ? 'reporting' : 'not reporting';
}

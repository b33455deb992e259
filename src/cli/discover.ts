import process from 'node:process';
import { Document } from 'yaml';
import type { Application, Host, Instance, KeyTransaction } from '../api/types.ts';
import { withAccounts, type LiveAccount } from './live.ts';
import { showProgress, type Progress } from './progress.ts';
import type { CommonOptions } from './serveFlags.ts';
import { table } from './table.ts';

export const DISCOVER_FORMATS = ['table', 'yaml', 'json'] as const;

export type DiscoverFormat = (typeof DISCOVER_FORMATS)[number];

/** An application with its hosts and instances. */
export interface DiscoveredApplication {
  readonly application: Application;
  readonly hosts: readonly Host[];
  readonly instances: readonly Instance[];
}

/** Everything one account's key can see. */
export interface Discovered {
  readonly account: string;
  readonly applications: readonly DiscoveredApplication[];
  readonly keyTransactions: readonly KeyTransaction[];
}

/** The command `discover`. */
export async function runDiscover(options: CommonOptions & { readonly format: DiscoverFormat }): Promise<void> {
  await withAccounts(options, async ({ accounts }) => {
    const found: Discovered[] = [];
    for (const account of accounts) {
      const progress = showProgress(`reading hosts and instances of ${account.config.name}`);
      try {
        found.push(await discover(account, progress));
      } finally {
        progress.stop();
      }
    }
    process.stdout.write(formatDiscovered(found, options.format));
  });
}

/** Reads all lists of an account: whatever its key can see, filters of the configuration aside. */
export async function discover({ config, reader, call }: LiveAccount, progress: Progress): Promise<Discovered> {
  const [list, keyTransactions] = await Promise.all([
    reader.listApplications({}, call),
    reader.listKeyTransactions({}, call),
  ]);
  let done = 0;
  const applications = await Promise.all(
    list.map(async (application) => {
      const hosts = await reader.listHosts(application.id, call);
      const instances = await reader.listInstances(application.id, call);
      done += 1;
      progress.update(done, list.length);
      return { application, hosts, instances };
    }),
  );
  return { account: config.name, applications, keyTransactions };
}

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
      hosts: hosts.map(({ id, host }) => ({ id, host })),
      instances: instances.map(({ id, host, port }) => ({ id, host, port: port ?? null })),
    })),
    key_transactions: keyTransactions.map((transaction) => ({
      id: transaction.id,
      name: transaction.name,
      transaction_name: transaction.transactionName ?? null,
      application_id: transaction.applicationId ?? null,
      reporting: transaction.reporting ?? null,
    })),
  };
}

/** A list that can stand under `applications.include`; the names are comments, because ids survive a renaming. */
function asYaml({ account, applications }: Discovered): string {
  const document = new Document(applications.map(({ application }) => ({ id: application.id })));
  const comments = applications.map(({ application, hosts }) =>
    [application.name, application.language, stateOf(application), `${hosts.length} hosts`].join(', '),
  );
  const lines = document.toString().trimEnd().split('\n');
  const entries =
    applications.length === 0 ? lines : lines.map((line, index) => `${line} # ${oneLine(comments[index] ?? '')}`);
  return [`# account ${oneLine(account)}: under applications.include`, ...entries, ''].join('\n');
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
          hosts.length,
          instances.length,
        ]),
      ],
    ],
    [
      'hosts',
      [
        ['ID', 'HOST', 'APPLICATION ID', 'APPLICATION'],
        ...applications.flatMap(({ application, hosts }) =>
          hosts.map(({ id, host }) => [id, host, application.id, application.name]),
        ),
      ],
    ],
    [
      'instances',
      [
        ['ID', 'HOST', 'PORT', 'APPLICATION ID', 'APPLICATION'],
        ...applications.flatMap(({ application, instances }) =>
          instances.map(({ id, host, port }) => [id, host, port ?? '', application.id, application.name]),
        ),
      ],
    ],
    [
      'key transactions',
      [
        ['ID', 'NAME', 'TRANSACTION', 'APPLICATION ID', 'APPLICATION'],
        ...keyTransactions.map(({ id, name, transactionName, applicationId }) => [
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

function stateOf({ reporting }: Application): string {
  if (reporting === undefined) return 'unknown';
  return reporting ? 'reporting' : 'not reporting';
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}

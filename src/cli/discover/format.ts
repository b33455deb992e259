import { Document } from 'yaml';
import type { Application } from '../../api/types.ts';
import { escapeUnsafe } from '../../log/logfmt.ts';
import { table } from '../terminal/table.ts';
import type { Discovered } from './read.ts';

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
  return [
    ['ID', 'NAME', 'LANGUAGE', 'STATE', 'HEALTH', 'HOSTS', ...(hasInstances ? ['INSTANCES'] : [])],
    ...applications.map(({ application, hosts, instances }) => [
      application.id,
      application.name,
      application.language ?? '',
      stateOf(application),
      application.healthStatus ?? '',
      hosts?.length ?? UNKNOWN,
      ...(hasInstances ? [instances?.length ?? UNKNOWN] : []),
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

/** The id of the REST interface is a number; NerdGraph knows a host by its name only. */
function asId(key: string): number | string {
  return /^\d{1,15}$/.test(key) ? Number(key) : key;
}

function stateOf({ reporting }: Application): string {
  if (reporting === undefined) return 'unknown';
  return reporting ? 'reporting' : 'not reporting';
}

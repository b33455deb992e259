import type { Application, Host, Instance, KeyTransaction } from '../api/types.ts';
import { datastoreNames } from '../formulas/names.ts';
import type { Scope } from '../metrics/family.ts';
import { matchTemplate } from '../metrics/template.ts';
import { batches } from '../api/rest/nameBatches.ts';
import type { AccountContext } from './context.ts';
import { readWindow } from './metricData.ts';
import { calculate, customOf, keepUsed } from './reading.ts';
import type { ApplicationRecord, WindowReading } from './records.ts';
import { onlyIds } from './selection.ts';
import type { Work } from './unit.ts';
import { wantedNames } from './wantedNames.ts';

/** Database metrics all end in this; the whole name list would be large (contract 4, point 6). */
const DATABASE_NAME_FILTER = '/allWeb';

/** The most pages of a custom metric's name list that are read (contract 6). */
const CUSTOM_NAME_PAGES = 20;

type Context = () => AccountContext;

export function applicationsWork(context: Context): Work<readonly Application[]> {
  return (_, call) => {
    const { account, reader } = context();
    const ids = onlyIds(account.applications);
    return reader.listApplications(ids === undefined ? {} : { ids }, call);
  };
}

export function keyTransactionsWork(context: Context): Work<readonly KeyTransaction[]> {
  return (_, call) => {
    const { account, reader } = context();
    const filter = account.key_transactions;
    const ids = typeof filter === 'boolean' ? undefined : onlyIds(filter);
    return reader.listKeyTransactions(ids === undefined ? {} : { ids }, call);
  };
}

export function hostsWork(context: Context, record: ApplicationRecord): Work<readonly Host[]> {
  return (_, call) => context().reader.listHosts(record.application.id, call);
}

export function instancesWork(context: Context, record: ApplicationRecord): Work<readonly Instance[]> {
  return (_, call) => context().reader.listInstances(record.application.id, call);
}

/** The names of the application's datastore metrics, one per database type. */
export function metricNamesWork(context: Context, record: ApplicationRecord): Work<readonly string[]> {
  return async (_, call) => {
    const query = { applicationId: record.application.id, name: DATABASE_NAME_FILTER };
    const { names } = await context().reader.listMetricNames(query, call);
    return datastoreNames(names.map(({ name }) => name).filter(canBeAsked));
  };
}

/** The names that the account's custom metrics match, each filter of theirs read once. */
export function customNamesWork(context: Context, record: ApplicationRecord): Work<readonly string[]> {
  return async (_, call) => {
    const { customMetrics, reader } = context();
    const found = new Set<string>();
    for (const name of new Set(customMetrics.map(({ filter }) => filter))) {
      const query = { applicationId: record.application.id, name, maxPages: CUSTOM_NAME_PAGES };
      const list = await reader.listMetricNames(query, call);
      for (const entry of list.names) {
        if (!canBeAsked(entry.name)) continue;
        if (customMetrics.some(({ template }) => matchTemplate(template, entry.name) !== undefined))
          found.add(entry.name);
      }
    }
    return [...found];
  };
}

/** Everything wanted of one application, or of one of its hosts, over one window. */
export function windowWork(
  context: Context,
  record: ApplicationRecord,
  hostKey: string | undefined,
): Work<WindowReading> {
  const scope = hostKey === undefined ? 'application' : 'host';
  return async (window, call) => {
    const { reader, batchSize, customMetrics } = context();
    const { id } = record.application;
    const subject = hostKey === undefined ? { applicationId: id } : { applicationId: id, hostKey };
    const custom = customOf(customMetrics, record, scope);
    const datastores = record.units?.names.held?.value;
    const names = wantedNames(context(), record, scope);
    const { data, calls } = await readWindow(reader, subject, names, window, batchSize, call);
    const input = { values: keepUsed(data, names, custom), datastores, calls };
    return calculate(hostKey, input, record, context().customMetrics);
  };
}

/** How many metric data calls an application, or each of its hosts, takes with the names that are known now. */
export function windowCalls(context: AccountContext, record: ApplicationRecord, scope: Scope): number {
  return batches(wantedNames(context, record, scope), context.batchSize.names).length;
}

/** False for names with half a character, which no query can carry: one of them would fail the whole call. */
function canBeAsked(name: string): boolean {
  return !/\p{Surrogate}/u.test(name);
}

import process from 'node:process';
import type { Application, MetricName } from '../api/types.ts';
import { ExitStatus } from './process/exitStatus.ts';
import { withAccounts, type LiveAccount } from './upstream/session.ts';
import type { CommonOptions } from './flags/commonFlags.ts';
import { table } from './terminal/table.ts';

/** More pages than this are only read when asked for: a list can have a thousand, seconds each. */
export const PAGES_WITHOUT_ASKING = 20;

const NOTE_EVERY_MS = 5_000;

export interface MetricNamesQuery {
  /** Id or exact name. */
  readonly app: string;
  /** Upstream's substring filter. */
  readonly name: string | undefined;
  readonly allPages: boolean;
  readonly onPage: (pages: number, names: number) => void;
}

export interface MetricNames {
  readonly account: string;
  readonly application: Application;
  readonly names: readonly MetricName[];
  /** False when the list goes on after the pages that were read. */
  readonly complete: boolean;
}

export interface MetricNamesOptions extends CommonOptions {
  readonly app: string;
  readonly name?: string;
  readonly allPages: boolean;
  readonly format: 'table' | 'json';
}

/** The command `metric-names`. A list that goes on after the pages that are read without asking ends it with status 1. */
export async function runMetricNames(options: MetricNamesOptions): Promise<void> {
  await withAccounts(options, async ({ accounts }) => {
    let noted = Date.now();
    const onPage = (pages: number, names: number): void => {
      if (Date.now() - noted < NOTE_EVERY_MS) return;
      noted = Date.now();
      process.stderr.write(`${pages} pages read, ${names} names\n`);
    };
    const { app, name, allPages } = options;
    const found = await readMetricNames(accounts, { app, name, allPages, onPage });
    process.stdout.write(formatMetricNames(found, options.format));
    if (found.complete) return;
    process.stderr.write(
      `the list goes on after ${PAGES_WITHOUT_ASKING} pages (${found.names.length} names): narrow it with --name, ` +
        'or read all of it with --all-pages, which costs a call per page\n',
    );
    throw new ExitStatus(1);
  });
}

/**
 * The metric names of one application, from whichever account can see it. Throws an Error whose message is a sentence
 * when no application, or more than one, has the name.
 */
export async function readMetricNames(
  accounts: readonly LiveAccount[],
  { app, name, allPages, onPage }: MetricNamesQuery,
): Promise<MetricNames> {
  const { account, application } = await findApplication(accounts, app);
  const { names, complete } = await account.reader.listMetricNames(
    {
      applicationId: application.id,
      ...(name === undefined ? {} : { name }),
      maxPages: allPages ? Infinity : PAGES_WITHOUT_ASKING,
      onPage,
    },
    account.call,
  );
  return { account: account.config.name, application, names, complete };
}

/**
 * Finds an application by id or exact name. Throws an Error whose message is a sentence: also when an account cannot be
 * read, unless the id was found in another, because it may have an application of the same name.
 */
export async function findApplication(
  accounts: readonly LiveAccount[],
  app: string,
): Promise<{ account: LiveAccount; application: Application }> {
  const lists = await Promise.allSettled(
    accounts.map(async (account) => {
      const applications = await account.reader.listApplications({}, account.call);
      return applications.map((application) => ({ account, application }));
    }),
  );
  const all = lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []));
  const found = all.filter(({ application }) => application.name === app || String(application.id) === app);
  const failed = lists.findIndex(({ status }) => status === 'rejected');
  const failure = lists[failed];
  if (failure?.status === 'rejected' && !found.some(({ application }) => String(application.id) === app)) {
    const name = accounts[failed]?.config.name ?? '';
    throw new Error(`account ${name}: the application list cannot be read`, { cause: failure.reason });
  }
  const [only, ...others] = found;
  if (only === undefined) {
    throw new Error(`no application has the id or name "${app}": the command discover lists them`);
  }
  if (others.length > 0) {
    const ids = found.map(({ application }) => application.id).join(', ');
    throw new Error(`${found.length} applications have the name "${app}": give one of their ids (${ids})`);
  }
  return only;
}

/** As a table of names and value names, or as JSON; ends in a line feed. */
export function formatMetricNames(
  { account, application, names, complete }: MetricNames,
  format: 'table' | 'json',
): string {
  if (format === 'json') {
    const about = { account, application: { id: application.id, name: application.name }, complete };
    return `${JSON.stringify({ ...about, metrics: names }, undefined, 2)}\n`;
  }
  return `${table([['METRIC', 'VALUES'], ...names.map(({ name, values }) => [name, (values ?? []).join(' ')])])}\n`;
}

import type { Application, Host, MetricName } from '../api/types.ts';
import { escapeUnsafe } from '../log/logger.ts';
import { windowAt } from '../collect/due.ts';
import type { Config } from '../config/config.ts';
import { suggest } from '../config/wording.ts';
import type { CommonOptions } from '../cli/flags.ts';
import { jsonText, showProgress } from './terminal.ts';
import { findApplications, readOne } from './upstream/readForCommand.ts';
import { withAccounts, type LiveAccount } from './upstream/session.ts';

/** Limit for pages with `--no-all-pages`, because a list can have a thousand pages that take seconds each. */
const FEW_PAGES = 20;

/** The command `metric-names`. It ends with status 1 when the list has more pages than were requested. */
export async function runMetricNames(
  options: CommonOptions & {
    /** Id or exact name. */
    readonly app: string;
    /** Undefined for the account that has the application. */
    readonly account?: string;
    /** Id or exact name; undefined: the names of the application itself. */
    readonly host?: string;
    readonly name?: string;
    /** False to read only the first pages. */
    readonly allPages: boolean;
    readonly format: 'table' | 'json';
  },
): Promise<void> {
  await withAccounts(options, async ({ accounts, config: { collection }, print }) => {
    const { app, host: hostText, name: substring, allPages, format } = options;
    const [found] = await findApplications(accounts, [app]);
    if (found === undefined) throw new Error('no application was found, and no error says why');
    const { account, value: application } = found;
    const host = hostText === undefined ? undefined : await findHost(account, application, hostText, collection);
    const progress = showProgress('reading pages');
    const query = {
      applicationId: application.id,
      ...(host === undefined ? {} : { hostKey: host.key }),
      ...(substring === undefined ? {} : { name: substring }),
      // Later minutes may still be incomplete, as with metric data.
      to: windowAt(Date.now(), collection).to,
      maxPages: allPages ? Infinity : FEW_PAGES,
      onPage: (pages: number) => progress.update(pages, pages + 1),
    };
    const list = account.reader.listMetricNames(query, account.call);
    const { names, complete } = await list.finally(() => progress.stop());
    const document = {
      account: account.config.name,
      application: { id: application.id, name: application.name },
      ...(host === undefined ? {} : { host: { id: host.key, name: host.host } }),
      complete,
      metrics: names.map(({ name, values }) => ({ name, values: values ?? null })),
    };
    print(format === 'table' ? asText(names) : jsonText(document));
    if (complete) return;
    throw new Error(
      `the list continues after ${FEW_PAGES} pages (${names.length} names): narrow it with --name, ` +
        'or read all of it without --no-all-pages, which costs a call per page',
    );
  });
}

/** The names as text: names with the same value names are grouped, because nearly all metrics have the same ten. */
function asText(names: readonly MetricName[]): string {
  const groups = new Map<string | undefined, string[]>();
  for (const { name, values } of names) {
    const key = values?.join(' ');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [name]);
    else group.push(name);
  }
  return [...groups]
    .map(([values, members]) =>
      // An interface without value names gives one name per line.
      values === undefined
        ? members.map((name) => `${escapeUnsafe(name)}\n`).join('')
        : [`VALUES  ${escapeUnsafe(values)}\n`, ...members.map((name) => `  ${escapeUnsafe(name)}\n`)].join(''),
    )
    .join('\n');
}

async function findHost(
  { reader, call }: LiveAccount,
  { id, name }: Application,
  text: string,
  collection: Config['collection'],
): Promise<Host> {
  const hosts = await readOne(reader.hosts, { applicationId: id }, windowAt(Date.now(), collection), call);
  const byKey = hosts.filter(({ key }) => key === text);
  const [only, ...others] = byKey.length > 0 ? byKey : hosts.filter(({ host }) => host === text);
  const about = `of application ${id} (${name})`;
  if (only === undefined) {
    const meant = suggest(text, [...new Set(hosts.map((each) => each.host))]);
    throw new Error(`no host ${about} has the id or name "${text}": discover --app=${id} lists them${meant}`);
  }
  if (others.length > 0) {
    const ids = [only, ...others].map(({ key }) => key).join(', ');
    throw new Error(`${others.length + 1} hosts ${about} have the name "${text}": give one of their ids (${ids})`);
  }
  return only;
}

import type { Application, MetricName } from '../api/types.ts';
import type { TimeRange } from '../api/upstreamReader.ts';
import { escapeUnsafe } from '../text/escaping.ts';
import { windowAt } from '../collect/inventory/window.ts';
import { suggest } from '../text/wording.ts';
import type { CommonOptions } from '../cli/flags.ts';
import { UsageError } from '../cli/process.ts';
import { groupBy } from './grouping.ts';
import { renderJson } from './terminal.ts';
import { findApplications, readOne } from './upstream/readForCommand.ts';
import { withAccounts, type LiveAccount } from './upstream/session.ts';

export async function runMetricNames(
  options: CommonOptions & {
    /** Id or exact name. */
    readonly app?: string;
    readonly account?: string;
    /** Id or exact name; undefined: the names of the application itself. */
    readonly host?: string;
    readonly name?: string;
    readonly format: 'table' | 'json';
  },
): Promise<void> {
  const { app, host: hostIdOrName, name: substring, format } = options;
  if (app === undefined) throw new UsageError('give --app, the id or name of an application');
  await withAccounts(options, async ({ accounts, config: { collection }, print }) => {
    const [found] = await findApplications(accounts, [app]);
    if (found === undefined) throw new Error('no application was found, and no error says why');
    const { account, value: application } = found;
    const range = windowAt(Date.now(), collection);
    const host = hostIdOrName === undefined ? undefined : await findHost(account, application, hostIdOrName, range);
    const query = {
      applicationId: application.id,
      ...(host && { hostKey: host.key }),
      ...(substring === undefined ? {} : { name: substring }),
      // Later minutes may be incomplete.
      to: range.to,
      maxPages: Infinity,
    };
    const { names, complete } = await account.reader.listMetricNames(query, account.call);
    const document = {
      account: account.config.name,
      application: { id: application.id, name: application.name },
      ...(host && { host: { id: host.key, name: host.host } }),
      complete,
      metrics: names.map(({ name, values }) => ({ name, values: values ?? null })),
    };
    print(format === 'table' ? renderNames(names) : renderJson(document));
  });
}

/** Renders the names, grouped by their value names: nearly all metrics have the same ten value names. */
function renderNames(names: readonly MetricName[]): string {
  return [...groupBy(names, ({ values }) => values?.join(' '))]
    .map(([values, members]) =>
      // Without value names, one name per line.
      values === undefined
        ? members.map(({ name }) => `${escapeUnsafe(name)}\n`).join('')
        : [`VALUES  ${escapeUnsafe(values)}\n`, ...members.map(({ name }) => `  ${escapeUnsafe(name)}\n`)].join(''),
    )
    .join('\n');
}

async function findHost({ reader, call }: LiveAccount, { id, name }: Application, idOrName: string, range: TimeRange) {
  const hosts = await readOne(reader.hosts, { applicationId: id }, range, call);
  const byKey = hosts.filter(({ key }) => key === idOrName);
  const [only, ...others] = byKey.length > 0 ? byKey : hosts.filter(({ host }) => host === idOrName);
  const about = `of application ${id} (${name})`;
  if (only === undefined) {
    const suggestion = suggest(idOrName, [...new Set(hosts.map((each) => each.host))]);
    throw new Error(`no host ${about} has the id or name "${idOrName}": discover --app=${id} lists them${suggestion}`);
  }
  if (others.length === 0) return only;
  const ids = [only, ...others].map(({ key }) => key).join(', ');
  throw new Error(`${others.length + 1} hosts ${about} have the name "${idOrName}": give one of their ids (${ids})`);
}

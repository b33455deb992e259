import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { stringify } from 'yaml';
import type { AccountCollector } from '../collect/accounts/accountCollector.ts';
import type { Plan } from '../collect/schedule/due.ts';
import type { AccountConfig } from '../config/config.ts';
import type { AccountStatus } from '../collect/serve/accountStatus.ts';
import type { EntityTypeCount } from '../api/upstreamReader.ts';
import { formatPath } from '../config/diagnostic.ts';
import { formatDuration } from '../config/duration.ts';
import { checkAccountFiles, checkConfig, DEFAULT_CONFIG_FILE } from '../config/load.ts';
import { counted } from '../text/wording.ts';
import type { LoadedConfiguration } from '../cli/configuration.ts';
import type { CommonOptions } from '../cli/flags.ts';
import { ExitStatus, printError, UsageError } from '../cli/process.ts';
import { renderCommandLine } from '../cli/typed.ts';
import { NAME } from '../cli/version.ts';
import { escapeUnsafe } from '../text/escaping.ts';
import type { Group } from '../reads/reads.ts';
import { sumBy } from './grouping.ts';
import { checkOutput } from './outputFiles.ts';
import { reportUnread, withLists } from './upstream/session.ts';

export interface InitOptions extends Omit<CommonOptions, 'config.file'> {
  readonly apiKeyFile?: string;
  readonly region?: string;
  readonly api?: string;
  readonly baseUrl?: string;
  readonly output: string;
  readonly force: boolean;
}

/** Runs `init`: reads what the key sees, and writes a first configuration. Status 1 if it can read no account. */
export async function runInit({ output, force, ...options }: InitOptions): Promise<void> {
  checkOutput(output, force);
  const account = buildAccount(options);
  const loaded = loadOrExit(account);
  await withLists({ ...options, loaded }, async ({ collector, reportError, print, mask, signal }) => {
    const [{ problem, reason } = {}] = collector.entries();
    if (problem !== undefined) reportError(`the accounts of the key cannot be read: ${problem}`, reason);
    const statuses = collector.status();
    const unreadNames = reportUnread(statuses, reportError);
    const read = statuses.filter(({ name }) => !unreadNames.has(name));
    if (read.length === 0) throw new ExitStatus(1);
    const { accounts } = collector;
    const types = await readEntityTypes(collector.collectors(), signal);
    const unread = accounts.filter(({ name }) => unreadNames.has(name));
    const text = renderConfiguration({ ...identifyAccounts(accounts, unread), ...account }, read, types);
    writeFileSync(output, mask(text), { flag: force ? 'w' : 'wx' });
    const flag = output === DEFAULT_CONFIG_FILE ? '' : ` --config.file=${output}`;
    const next = renderCommandLine('check', `--live${flag}`);
    const without = unread.length === 0 ? '' : `, without ${counted(unread.length, 'account')} that cannot be read`;
    print(`${escapeUnsafe(`Wrote ${output}: ${describeSeen(read)}${without}. Next: ${next}`)}\n`);
  });
}

type Written = Readonly<Record<string, string | number | readonly object[] | undefined>>;

function buildAccount({ apiKeyFile, region, api, baseUrl }: Partial<InitOptions>): Written {
  const { env } = process;
  const key = env['NEW_RELIC_API_KEY'] ? { api_key: '${NEW_RELIC_API_KEY}' } : {};
  const file = apiKeyFile ?? (env['NEW_RELIC_API_KEY_FILE'] || undefined);
  const id = env['NEW_RELIC_ACCOUNT_ID'] || undefined;
  return {
    ...(id === undefined ? {} : { account_id: /^\d+$/.test(id) ? Number(id) : id }),
    ...(baseUrl === undefined ? { region: region ?? (env['NEW_RELIC_REGION'] || 'us') } : { base_url: baseUrl }),
    api: api ?? (env['NEW_RELIC_API'] || 'nerdgraph'),
    // Absolute, because a relative name is relative to the configuration.
    ...(file === undefined ? key : { api_key_file: resolve(file) }),
  };
}

/** Returns the settings for the only account of the key, or for all accounts but the unread. Nothing over REST. */
function identifyAccounts(accounts: readonly AccountConfig[], unread: readonly AccountConfig[]): Written {
  const [first, ...others] = accounts;
  if (first?.origin === undefined) return {};
  if (others.length === 0) return { name: first.name, account_id: first.account_id };
  return {
    account_ids: 'all',
    exclude_accounts: unread.length === 0 ? undefined : unread.map(({ account_id }) => ({ id: account_id })),
    // The default limit of accounts is 100.
    max_accounts: accounts.length > 100 ? 10 * accounts.length : undefined,
  };
}

/** Loads the account with all groups whose cost the file names. Prints faults, then throws ExitStatus 2. */
function loadOrExit(account: Written): LoadedConfiguration {
  const key = account['api_key'] === undefined ? undefined : process.env['NEW_RELIC_API_KEY'];
  const isOne = account['api'] === 'rest' || account['account_id'] !== undefined;
  const list = isOne ? {} : { account_ids: 'all', max_accounts: Number.MAX_SAFE_INTEGER };
  const values = { accounts: [{ ...account, ...list, api_key: key, counters: true }] };
  const { config, issues } = checkConfig(values, '', checkAccountFiles);
  if ((account['api_key'] ?? account['api_key_file']) === undefined)
    throw new UsageError('there is no key: set NEW_RELIC_API_KEY, or name a file that holds it with --api-key-file');
  const { base_url: address } = account;
  for (const { path, message } of issues) {
    const place = formatPath(path).replace('accounts[0].', '');
    // An address of REST does not choose the interface.
    const isRest = place === 'base_url' && typeof address === 'string' && /\/v2\/?$/.test(address);
    printError(`${place}: ${message}${isRest ? '; for REST, give --api=rest too' : ''}`);
  }
  if (config === undefined || issues.length > 0) throw new ExitStatus(2);
  return { path: '', config, warnings: [] };
}

/** Reads the types of entities except applications and key transactions, most entities first. Ignores failures. */
async function readEntityTypes(accounts: readonly AccountCollector[], signal: AbortSignal) {
  const counts = new Map<string, number>();
  const lists = accounts.map(async ({ context: { reader } }) => reader.entities?.types({ signal, patient: true }));
  // The file only offers these types, so a failed read does not matter.
  for (const list of await Promise.allSettled(lists)) {
    for (const { type, count } of list.status === 'fulfilled' ? (list.value ?? []) : []) {
      if (!/^APM-|-KEY_TRANSACTION$/.test(type)) counts.set(type, (counts.get(type) ?? 0) + count);
    }
  }
  return Array.from(counts, ([type, count]) => ({ type, count })).sort((a, b) => b.count - a.count);
}

type Seen = Pick<AccountStatus, 'plan' | 'applications' | 'tasks' | 'keyTransactions'>;

function describeSeen(statuses: readonly Seen[]): string {
  const count = (noun: string, amountIn: (status: Seen) => number): string => counted(sumBy(statuses, amountIn), noun);
  return [
    count('account', () => 1),
    count('application', ({ applications }) => applications?.length ?? 0),
    count('host', ({ tasks }) => tasks.filter(({ group }) => group === 'host_metrics').length),
    count('key transaction', ({ keyTransactions }) => keyTransactions),
  ].join(', ');
}

/** Approximate number of entities in a query. */
const ENTITIES_PER_QUERY = 150;
const SHOWN_TYPES = 5;

/** Renders the file: the settings, and further settings as comments, with their cost. */
export function renderConfiguration(account: Written, statuses: readonly Seen[], types: readonly EntityTypeCount[]) {
  const formatCalls = (...groups: readonly Group[]): string => {
    const calls = sumBy(statuses, ({ plan }) => sumCalls(plan, (group) => groups.includes(group)));
    return `${calls.toFixed(1)} calls a minute`;
  };
  const loads = (without: readonly Group[]): readonly number[] =>
    statuses.map(({ plan }) => {
      const carried = Math.min(plan.budget, plan.concurrencyCapacity ?? Infinity);
      return sumCalls(plan, (group) => !without.includes(group)) / carried;
    });
  const hosts = Math.max(...loads(['counters'])) <= 1;
  const isEmpty = statuses.length === 1 && statuses[0]?.applications?.length === 0;
  const extras: readonly Group[] = ['counters', 'hosts', 'host_metrics'];
  const stretch = Math.ceil(Math.max(...loads(extras)));
  const { budget = 0, groups = [] } = statuses[0]?.plan ?? {};
  const slower = groups
    .filter(({ group }) => !extras.includes(group))
    .map(({ group, interval }) => `    ${group}: ${formatDuration(interval * stretch)}`);
  const lines = [
    ...Object.entries(account).flatMap(([key, value]) => {
      const comment = key === 'exclude_accounts' ? ' # cannot be read' : '';
      return value === undefined ? [] : [`${key}: ${renderValue(key, value)}${comment}`];
    }),
    ...(isEmpty
      ? ['applications: false # the account has none']
      : [
          '# Choose applications by name, id or tag (default: all):',
          '#applications: { include: [{ name: "Checkout *" }] }',
          `hosts: ${hosts} # ${formatCalls('hosts', 'host_metrics')}`,
          `key_transactions: true # ${formatCalls('key_transactions')}`,
          `counters: false # for rate() and service levels: ${formatCalls('counters')} more`,
          ...(account['api'] === 'rest' ? ['#instances: true # a call for each application every 5 minutes'] : []),
        ]),
    '# Alert events that are open in New Relic (docs/queries.md lists the packs): a call every 5 minutes. It reads 30 days:',
    '# 8,640 minutes of data per minute, which compute pricing bills.',
    '#query_packs: [alert_events]',
    ...(types.length === 0 ? [] : ['# Golden metrics of other entities (docs/entities.md):', '#entities:']),
    ...types.slice(0, SHOWN_TYPES).map(({ type, count }) => {
      const calls = Math.ceil(count / ENTITIES_PER_QUERY) + 0.2;
      return `#  - type: ${escapeUnsafe(type)} # ${counted(count, 'entity', 'entities')}: from ${calls.toFixed(1)} calls a minute`;
    }),
    ...(types.length > SHOWN_TYPES
      ? [`# ${types.length - SHOWN_TYPES} more types: ${renderCommandLine('discover', '--entities')}`]
      : []),
  ];
  return [
    `# Written by "${NAME} init". docs/configuration.md lists all settings.`,
    `# The key sees ${describeSeen(statuses)}.`,
    `# Applications take ${formatCalls('applications', 'application_metrics', 'metric_names')}, of ${budget} per account.`,
    'accounts:',
    ...lines.map((line, index) => `  ${index === 0 ? '-' : ' '} ${line}`),
    ...(stretch > 1 ? ['collection:', '  intervals: # long enough for the calls to fit the budget', ...slower] : []),
    '',
  ].join('\n');
}

function sumCalls({ groups }: Plan, isCounted: (group: Group) => boolean): number {
  return sumBy(groups, ({ group, callsPerMinute }) => (isCounted(group) ? callsPerMinute : 0));
}

function renderValue(key: string, value: NonNullable<Written[string]>): string {
  const text = typeof value === 'string' && key !== 'api_key' ? value.replaceAll('${', '$${') : value;
  // Each setting takes one line, also a list.
  return stringify(text, { lineWidth: 0, collectionStyle: 'flow' }).trimEnd();
}

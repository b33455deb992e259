import { alignRange } from '../../api/nerdgraph/nrql.ts';
import type { Application } from '../../api/types.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import { windowAt } from '../../collect/inventory/window.ts';
import { effectiveSettings, selects } from '../../collect/inventory/selection.ts';
import { type AccountConfig, switchInterface, type Config } from '../../config/config.ts';
import { escapeUnsafe } from '../../text/escaping.ts';
import { percent, suggest } from '../../text/wording.ts';
import type { CommonOptions } from '../../cli/flags.ts';
import { ExitStatus, UsageError } from '../../cli/process.ts';
import type { Labels } from '../../metrics/family.ts';
import { formatMinute, renderJson, readLineLength, paint, renderTable, wrapText } from '../terminal.ts';
import type { CommandContext, LiveAccount, LiveSession } from '../upstream/session.ts';
import { requireSingleAccount, withAccounts } from '../upstream/session.ts';
import { groupBy, sumBy } from '../grouping.ts';
import { compareSides, type Difference, pickIdentity } from './compareSides.ts';
import { readSides } from './sides.ts';

export interface CompareOptions extends CommonOptions {
  readonly account?: string | undefined;
  /** Undefined: as configured. */
  readonly accountId?: number | undefined;
  /** Ids or exact names; empty: the applications that the account exports. */
  readonly app: readonly string[];
  readonly hosts: boolean;
  readonly all: boolean;
  readonly tolerance: number;
  readonly format: 'table' | 'json';
}

/** Runs the command `compare`. Status 1 if both of two readings have an unexpected difference, else 0. */
export async function runCompare(options: CompareOptions): Promise<void> {
  const run = async (session: LiveSession & CommandContext): Promise<void> => {
    const now = Date.now();
    const first = await compare(session, options, now);
    // A status or a late minute can change between REST and NerdGraph. A second reading finds it in both.
    const comparison = first.unexpected === 0 ? first : await compare(session, options, now);
    session.print(options.format === 'json' ? renderJson(comparison) : renderComparison(comparison, options.all));
    if (comparison.unexpected > 0) throw new ExitStatus(1);
  };
  await withAccounts(options, run, (config) => configureBothInterfaces(config, options.accountId));
}

/** Configures the only account over REST, then over NerdGraph, with exact values. Throws a UsageError for several. */
export function configureBothInterfaces(config: Config, accountId: number | undefined): Config {
  const account = requireSingleAccount(config);
  const same = { ...account, account_id: accountId ?? account.account_id };
  return {
    accounts: [switchInterface('rest', same), switchInterface('nerdgraph', same)],
    collection: { ...config.collection, raw_values: true },
  };
}

/**
 * Compares the chosen applications over the newest window at `now` (milliseconds). Rejects with an Error if a read
 * fails, or if the interfaces have no application in common.
 */
export async function compare(
  { accounts, config, signal, openReader }: LiveSession & Pick<CommandContext, 'openReader'>,
  options: Pick<CompareOptions, 'app' | 'hosts' | 'tolerance'>,
  now: number,
) {
  const [rest, nerdgraph] = accounts;
  if (rest === undefined || nerdgraph === undefined) throw new Error('both interfaces of an account are needed');
  const [restLists, nerdgraphLists] = await Promise.all([readLists(rest, 'REST'), readLists(nerdgraph, 'NerdGraph')]);
  const ids = chooseIds(rest.config, options.app, restLists.applications, nerdgraphLists.applications);
  const allKeyTransactions = [...restLists.keyTransactions, ...nerdgraphLists.keyTransactions];
  const { key_transactions: filter } = rest.config;
  const keyTransactions = allKeyTransactions
    .filter(({ applicationId }) => applicationId !== undefined && ids.has(applicationId))
    .filter((each) => typeof filter === 'boolean' || selects(filter, each));
  // Key transactions with unread details would look like differences.
  for (const { unread: cause } of keyTransactions) {
    if (cause !== undefined) throw new Error('the data cannot be read over NerdGraph', { cause });
  }
  const keyTransactionIds = new Set(keyTransactions.map(({ id }) => id));
  const overRest = restLists.applications.filter(({ id }) => ids.has(id));
  const overNerdGraph = nerdgraphLists.applications.filter(({ id }) => ids.has(id));
  const listed = new Set(overNerdGraph.map(({ id }) => id));
  if (!overRest.some(({ id }) => listed.has(id))) throw new Error(describeNothingInCommon(overRest, overNerdGraph));
  // A long window ends on a step, because NerdGraph cuts long ranges to steps. REST accepts any range.
  const window = alignRange(windowAt(now, config.collection));
  const configureSide = ({ config: account }: LiveAccount, name: string): AccountConfig => ({
    ...account,
    name,
    ...{ labels: {}, counters: false, instances: false, custom_metrics: [], queries: [], entities: [] },
    hosts: options.hosts,
    applications: {
      ...account.applications,
      ...{ include: matchIds(ids), exclude: [], tags: [], reporting_only: false },
      // By id: a setting may match tags, and only NerdGraph lists tags.
      settings: overNerdGraph.map((each) => {
        return { match: { id: each.id }, database_component: effectiveSettings(account, each).database };
      }),
    },
    key_transactions: keyTransactionIds.size > 0 && { include: matchIds(keyTransactionIds), exclude: [] },
  });
  const both = {
    accounts: [configureSide(rest, 'REST'), configureSide(nerdgraph, 'NerdGraph')],
    collection: config.collection,
  };
  const [restSide, nerdgraphSide] = await readSides({ accounts, signal, openReader, config: both }, window.to);
  if (restSide === undefined || nerdgraphSide === undefined) throw new Error('a side is missing');
  return {
    account: rest.config.name,
    window,
    ...compareSides(restSide, nerdgraphSide, options.tolerance),
    /** Changes other than values, such as names. */
    notes: [
      ...noteOtherNames('application', overRest, overNerdGraph),
      ...noteOtherNames(
        'key transaction',
        restLists.keyTransactions.filter(({ id }) => keyTransactionIds.has(id)),
        nerdgraphLists.keyTransactions,
      ),
      ...(rest.config.counters ? ['counters are not compared: each exporter begins them at zero'] : []),
    ],
  };
}

export type Comparison = Awaited<ReturnType<typeof compare>>;

async function readLists({ config, reader, call }: LiveAccount, api: string) {
  try {
    const [applications, keyTransactions] = await Promise.all([
      reader.listApplications({}, call),
      config.key_transactions === false ? [] : reader.listKeyTransactions({}, call),
    ]);
    return { applications, keyTransactions };
  } catch (cause) {
    throw cause instanceof UpstreamError ? new Error(`the lists cannot be read over ${api}`, { cause }) : cause;
  }
}

/**
 * Returns the ids of the chosen applications. One interface must list the application as reporting, and one under a
 * chosen name: names may differ. Throws a UsageError for a name or id without a match.
 */
function chooseIds(
  { applications: filter }: AccountConfig,
  apps: readonly string[],
  overRest: readonly Application[],
  overNerdGraph: readonly Application[],
): ReadonlySet<number> {
  const isTagged = [...(filter.include ?? []), ...filter.exclude].some(({ tag }) => tag !== undefined);
  // Only NerdGraph lists the tags of applications.
  const all = [...overRest, ...overNerdGraph];
  const choosing = apps.length === 0 && isTagged ? overNerdGraph : all;
  const isMeant = ({ id, name }: Application, app: string): boolean => app === name || app === String(id);
  const reporting = new Set(all.filter((each) => each.reporting !== false).map(({ id }) => id));
  const chosen = choosing
    .filter(({ id }) => reporting.has(id))
    .filter((each) => (apps.length === 0 ? selects(filter, each) : apps.some((app) => isMeant(each, app))));
  const unmatched = apps.filter((app) => !chosen.some((each) => isMeant(each, app)));
  if (unmatched.length > 0) {
    const names = [...new Set(choosing.map(({ name }) => name))];
    const what = unmatched.map((app) => `"${app}"${suggest(app, names)}`).join(', ');
    throw new UsageError(`--app matches no reporting application: ${what}; the command discover lists them`);
  }
  return new Set(chosen.map(({ id }) => id));
}

function describeNothingInCommon(onRest: readonly Application[], onNerdGraph: readonly Application[]): string {
  const namesOf = (applications: readonly Application[]): string => {
    const names = applications.map(({ name, id }) => `${name} (${id})`);
    if (names.length > 5) names.splice(5, Infinity, `${names.length - 5} more`);
    return names.join(', ') || 'none';
  };
  return (
    `the interfaces have no reporting application in common (REST lists ${namesOf(onRest)}; NerdGraph lists ${namesOf(onNerdGraph)}): ` +
    'the key may act on another account over REST (give --account-id), or its user may lack a role'
  );
}

const matchIds = (ids: ReadonlySet<number>) => Array.from(ids, (id) => ({ id }));

type Named = Pick<Application, 'id' | 'name'>;

/** Returns a note for each chosen id with two names. Its series have the same id, but other labels. */
function noteOtherNames(what: string, overRest: readonly Named[], overNerdGraph: readonly Named[]): string[] {
  const names = new Map(overNerdGraph.map(({ id, name }) => [id, name]));
  return overRest.flatMap(({ id, name }) => {
    const other = names.get(id) ?? name;
    if (other === name) return [];
    return [`${what} ${id} is called "${name}" over REST and "${other}" over NerdGraph: its labels change`];
  });
}

/** Renders the result as text: differences and verdict, with `all` every family, too. Ends in a line feed. */
export function renderComparison(comparison: Comparison, all: boolean, maxWidth = readLineLength()): string {
  const { account, window, tolerance, families, differences, unexpected, notes } = comparison;
  const heading = `Account ${account}, window from ${formatMinute(window.from)} to ${formatMinute(window.to)}, tolerance ${percent(tolerance)}`;
  const heads = ['FAMILY', 'COMPARED', 'DIFFER', 'WORST'];
  const rows = families.map((each) => [
    removePrefix(each.family),
    each.compared,
    each.differing,
    // Ignores rounding of sums.
    each.compared === 0 ? '-' : percent(each.max_difference < 1e-9 ? 0 : each.max_difference),
  ]);
  const sections = [
    [heading, ...notes.map((note) => `Note: ${note}.`)].map((line) => wrapText(line, maxWidth)).join('\n'),
    `Differences that nothing explains: ${unexpected === 0 ? 'none' : unexpected}\n${renderUnexplained(differences)}`,
    `Differences that are expected: ${differences.length - unexpected || 'none'}\n${renderExplained(differences, all, maxWidth)}`,
    ...(all ? [`Families, without newrelic_ before them:\n${renderTable([heads, ...rows], maxWidth)}`] : []),
    describeVerdict(comparison, all)
      .map((sentence) => wrapText(sentence, maxWidth))
      .join('\n')
      .replace(/^.*?(?=:)/, (agreement) => paint(unexpected === 0 ? 'green' : 'red', agreement)),
  ];
  return `${sections.map((section) => section.trimEnd()).join('\n\n')}\n`;
}

/** Renders unexpected differences, two lines each. All series of an entity that only one side lists share two lines. */
function renderUnexplained(differences: readonly Difference[]): string {
  const open = differences.filter(({ expected }) => !expected);
  const groups = groupBy([...open.entries()], ([index, each]) =>
    each.difference === null && each.reason !== null
      ? `${each.reason} ${each.rest === null} ${formatMatchers(pickEntityLabels(each.labels))}`
      : String(index),
  );
  const lines = [...groups.values()].flatMap((group) => {
    const [[, { family, labels, difference, rest, nerdgraph, reason }]] = group as [[number, Difference]];
    const has = (value: number | null): string => {
      if (value === null) return 'absent';
      return group.length > 1 ? 'listed' : String(Number(value.toPrecision(6)));
    };
    const what =
      group.length > 1
        ? `${group.length} series of ${formatMatchers(pickEntityLabels(labels))}`
        : family + formatMatchers(Object.fromEntries(pickIdentity(labels)));
    const why = [...(difference === null ? [] : [percent(difference)]), ...(reason === null ? [] : [reason])];
    return [what, `  REST ${has(rest)}, NerdGraph ${has(nerdgraph)}${why.map((each) => `: ${each}`).join('')}`];
  });
  return lines.map(escapeUnsafe).join('\n');
}

/** Renders expected differences, a line for each reason. With `all`, the families of the reason follow. */
function renderExplained(differences: readonly Difference[], all: boolean, maxWidth: number): string {
  const reasons = groupBy(
    differences.filter(({ expected }) => expected),
    ({ reason }) => reason ?? '',
  );
  const rows = Array.from(reasons, ([reason, group]) => {
    const families = groupBy(group, ({ family }) => removePrefix(family));
    const familyRows = all ? Array.from(families, ([family, series]) => [series.length, '', `  ${family}`]) : [];
    return [[group.length, families.size, reason], ...familyRows];
  });
  return rows.length === 0 ? '' : renderTable([['SERIES', 'FAMILIES', 'REASON'], ...rows.flat()], maxWidth);
}

const removePrefix = (family: string): string => family.replace(/^newrelic_/, '');

function describeVerdict({ families, unexpected, not_judged, tolerance }: Comparison, all: boolean): string[] {
  const compared = sumBy(families, (family) => family.compared);
  return [
    unexpected === 0
      ? `Both interfaces agree: ${compared} series compared, no judged series differs by more than ${percent(tolerance)}.`
      : `The interfaces differ: ${unexpected} unexpected differences; ${compared} series compared. docs/migrating.md says what to check.`,
    `${not_judged} series not judged: rolling values and host counts, which have other time bases, and series that only one interface has or keeps.${all ? '' : ' --all shows every family.'}`,
  ];
}

function pickEntityLabels(labels: Difference['labels']): Difference['labels'] {
  const names = labels['key_transaction_id'] === undefined ? ['app_id', 'host'] : ['key_transaction_id'];
  return Object.fromEntries(Object.entries(labels).filter(([name]) => names.includes(name)));
}

function formatMatchers(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `{${parts.join(',')}}`;
}

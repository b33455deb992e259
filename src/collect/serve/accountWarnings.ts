import type { Logger } from 'pino';
import type { EntityMatch, Matchable } from '../../config/match.ts';
import { suggest } from '../../text/wording.ts';
import { nerdgraphValuesOf, type CustomMetric } from '../../metrics/customMetrics.ts';
import type { AccountCollector } from '../accounts/accountCollector.ts';
import type { Entry } from '../accounts/accounts.ts';
import { LONGEST_RANGE, OVERLAP } from '../inventory/counterLedger.ts';
import { describeProblems, findMissingMetrics } from '../inventory/entityRecords.ts';
import { onlyIds, unmatched, describeUnmatched } from '../inventory/selection.ts';

const LONGEST_NAME_SHOWN = 120;

/** Returns the warnings about an account. Each warning is a sentence that says what to change. */
export function findWarnings(account: AccountCollector): string[] {
  return [
    ...findNotices(account),
    ...(account.list === undefined ? findUnmatched([account]) : []),
    ...findTightLimits(account),
    ...findSlowCounters(account),
  ];
}

/**
 * Returns the warnings about names and ids in the configuration that match nothing: of an account of the file, or of
 * all accounts of an entry, which share one configuration.
 */
export function findUnmatched(accounts: readonly AccountCollector[]): string[] {
  return [...findUnmatchedEntries(accounts, ['include', 'settings', 'tags']), ...findUnmatchedTemplates(accounts)];
}

/** Returns entries of `exclude` that match nothing. Only `check` warns, because a match may appear any day. */
export function findUnmatchedExclusions(accounts: readonly AccountCollector[]): string[] {
  return findUnmatchedEntries(accounts, ['exclude']);
}

/** Returns the warnings about an entry that may appear while the exporter runs. */
export function findEntryNotices(entry: Entry): string[] {
  return [...(entry.expanded?.warnings ?? []), ...findMissingInEntry(entry)];
}

/** Describes the configured golden metrics that no account of an entry has. */
export function findMissingInEntry({ accounts }: Entry): string[] {
  const [first] = accounts;
  return Array.from(first?.inventory.entities.types.values() ?? []).flatMap(({ selection: { type: entityType } }) =>
    describeProblems(
      findMissingMetrics(accounts.flatMap(({ inventory }) => inventory.entities.typeOf({ entityType }) ?? [])),
    ),
  );
}

/** Returns the warnings that may appear while the exporter runs, about states that only look healthy. */
export function findNotices(account: AccountCollector): string[] {
  const { entities, queries } = account.inventory;
  return [
    ...findFewApplications(account),
    ...findUnknownValues(account),
    ...findCutMetrics(account),
    ...entities.warnings(),
    ...[...queries.byName.values()].flatMap(({ warnings }) => warnings),
  ];
}

/** Logs new warnings. Returns them without numbers, for the next call: a change of numbers is no new warning. */
export function logNew(logger: Logger, warnings: readonly string[], before: ReadonlySet<string>): ReadonlySet<string> {
  for (const warning of warnings) if (!before.has(maskNumbers(warning))) logger.warn(warning);
  return new Set(warnings.map(maskNumbers));
}

/** Replaces numbers by `#`, except in quotes, where they belong to a name. */
function maskNumbers(sentence: string): string {
  return sentence.replace(/("[^"]*")|(?<![\w./-])\d[\d.,]*/g, (_, quoted: string | undefined) => quoted ?? '#');
}

function findFewApplications(account: AccountCollector): string[] {
  const { inventory, isWithoutApplications } = account;
  if (isWithoutApplications) return [];
  const listed = inventory.listedApplications?.length;
  if (listed === undefined || !account.up) return [];
  const ids = onlyIds(account.context.account.applications);
  // The exporter requests only these ids, so the account may have other applications.
  if (listed === 0 && ids !== undefined) {
    return [
      `applications.include: no application has ${ids.length === 1 ? 'the id' : 'one of the ids'} ${ids.join(', ')}: correct the entry or remove it`,
    ];
  }
  const largest = inventory.findLargestList();
  const remedy = 'check that the key can still see the whole account (role, account_id, region)';
  if (listed === 0) return [`the account lists no application: ${remedy}`];
  if (listed >= largest) return [];
  return [`the account lists ${listed} applications, and listed ${largest} within the last hour: ${remedy}`];
}

/** Describes applications whose custom metric names are cut: one sentence for all with the same cut. */
function findCutMetrics({ inventory }: AccountCollector): string[] {
  const all = [...inventory.applications.values()].map(({ entry: { name }, data }) => ({ name, cut: data?.cut ?? [] }));
  return [...new Set(all.flatMap(({ cut }) => cut))].map((words) => {
    const [first = '', ...others] = all.filter(({ cut }) => cut.includes(words)).map(({ name }) => name);
    const shown = JSON.stringify(first.slice(0, LONGEST_NAME_SHOWN));
    return `custom_metrics: ${shown} ${others.length === 0 ? 'has' : `and ${others.length} more have`} ${words}`;
  });
}

function findUnknownValues({ inventory }: AccountCollector): string[] {
  const withoutValue = new Map<CustomMetric, string>();
  const found = new Set<CustomMetric>();
  for (const { data } of inventory.applications.values()) {
    for (const scope of ['application', 'host'] as const) {
      const [host] = data?.hosts.values() ?? [];
      const reading = scope === 'application' ? data?.reading : host?.reading;
      for (const { metric, metricName } of data?.selected[scope]?.custom.matches ?? []) {
        const columns = reading?.values.metrics.get(metricName);
        if (columns === undefined) continue;
        if (Object.hasOwn(columns.values ?? {}, metric.definition.value)) found.add(metric);
        else withoutValue.set(metric, metricName);
      }
    }
  }
  return [...withoutValue]
    .filter(([metric]) => !found.has(metric))
    .map(
      ([{ definition }, metricName]) =>
        `custom_metrics: New Relic has no value "${definition.value}" of ${metricName} (${definition.name}): ` +
        'correct `value`; the command metric-names shows which values it has' +
        suggest(definition.value, nerdgraphValuesOf(definition.match).all),
    );
}

/** Skips accounts that are not up, because a wrong `account_id` may be the cause. */
function findUnmatchedEntries(all: readonly AccountCollector[], keys: readonly (keyof Entries)[]): string[] {
  const accounts = all.filter(({ up }) => up);
  const [first] = accounts;
  const waits = ({ context, inventory }: AccountCollector): boolean =>
    context.account.applications.read && !inventory.applicationList.tried;
  if (first === undefined || all.some(waits)) return [];
  const { account } = first.context;
  const { applications, key_transactions, account_id, origin } = account;
  const nobodyHas =
    origin === undefined
      ? `account ${account_id ?? account.name} has no`
      : `no account of entry ${origin.entry} has an`;
  /** Joins the lists of all accounts. Returns undefined if the list of an account is unread. */
  const joinLists = <T>(listOf: (account: AccountCollector) => readonly T[] | undefined): readonly T[] | undefined => {
    const lists = accounts.map(listOf);
    return lists.includes(undefined) ? undefined : lists.flatMap((list) => list ?? []);
  };
  const applicationEntries: Entries = {
    include: applications.include,
    // A list requested by ids does not show whether an excluded application exists.
    exclude: onlyIds(applications) === undefined ? applications.exclude : [],
    settings: applications.settings.map(({ match }) => match),
    tags: toEntries(applications.tags),
  };
  const keyTransactionEntries = typeof key_transactions === 'boolean' ? {} : key_transactions;
  const describe = (path: string, noun: string, entries: Entries, listed: readonly Matchable[] | undefined) =>
    keys.flatMap((key) =>
      unmatched(entries[key], listed).map(
        (match) => `${path}.${key}: no ${noun} has ${describeUnmatched(match, listed)}`,
      ),
    );
  const listedApplications = joinLists(({ inventory }) => inventory.listedApplications);
  const listedKeyTransactions = joinLists(({ inventory }) => inventory.listedKeyTransactions);
  return [
    ...describe('applications', 'application', applicationEntries, listedApplications),
    ...describe('key_transactions', 'key transaction', keyTransactionEntries, listedKeyTransactions),
    ...account.entities.flatMap((selection) => {
      const { type: entityType } = selection;
      const listed = joinLists(({ inventory }) => inventory.entities.typeOf({ entityType })?.listed);
      if (listed?.length !== 0 || !keys.includes('include')) {
        const entries = { ...selection, tags: toEntries(selection.tags) };
        return describe('entities', `entity of ${entityType}`, entries, listed);
      }
      return (
        `entities: ${nobodyHas} entity of ${entityType}: check account and type; ` +
        'the command discover --entities lists the types'
      );
    }),
  ];
}

type Entries = Readonly<
  Partial<Record<'include' | 'exclude' | 'settings' | 'tags', readonly EntityMatch[] | undefined>>
>;

function toEntries(tags: readonly string[]): readonly EntityMatch[] {
  return tags.map((tag) => ({ tag }));
}

function findUnmatchedTemplates(accounts: readonly AccountCollector[]): string[] {
  const records = accounts.flatMap(({ inventory }) => [...inventory.applications.values()]);
  const data = records.flatMap((record) => record.data ?? []);
  // An application with unread names may have a matching metric.
  if (data.length === 0 || data.some(({ customNames }) => customNames === undefined)) return [];
  const read = data.flatMap(({ customNames }) => customNames ?? []);
  return (accounts[0]?.context.customMetrics ?? [])
    .filter(({ template }) => !read.some((name) => template.pattern.test(name)))
    .map(
      ({ definition }) =>
        `custom_metrics: "${definition.match}" (${definition.name}) matches no metric of any application`,
    );
}

function findTightLimits({ schedule, context }: AccountCollector): string[] {
  const { callsPerMinute, budget, concurrencyCapacity, slowdown } = schedule.plan;
  if (slowdown <= 1) return [];
  const needed = `a refresh of everything needs ${Math.ceil(callsPerMinute)} calls per minute`;
  const slower = `so every group is refreshed ${slowdown.toFixed(1)} times slower`;
  const remedy = 'lengthen collection.intervals, or narrow applications.include';
  if (slowdown <= callsPerMinute / budget || concurrencyCapacity === undefined) {
    return [`limits.requests_per_minute: ${needed} and the budget is ${budget}, ${slower}: raise it, ${remedy}`];
  }
  const { max_concurrent_requests: places } = context.account.limits;
  const seconds = ((60 * places) / concurrencyCapacity).toFixed(1);
  return [
    `limits.max_concurrent_requests: ${needed}, and ${places} at once allow ${Math.floor(concurrencyCapacity)} ` +
      `while one takes ${seconds} s, ${slower}: raise it, ${remedy}`,
  ];
}

function findSlowCounters({ schedule, context }: AccountCollector): string[] {
  if (!context.enabled.has('counters')) return [];
  const interval = schedule.effectiveIntervalOf({ group: 'counters' });
  if (interval <= 1000 * (LONGEST_RANGE - OVERLAP)) return [];
  return [
    `counters: the exporter reads them every ${Math.round(interval / 60_000)} minutes, and a read covers at most 40 ` +
      'new minutes, so minutes will be lost: raise the limits, or narrow applications.include',
  ];
}

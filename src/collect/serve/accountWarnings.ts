import type { Logger } from 'pino';
import type { EntityMatch, Matchable } from '../../config/match.ts';
import { suggest } from '../../text/wording.ts';
import { nerdgraphValuesOf, type CustomMetric } from '../../metrics/customMetrics.ts';
import type { AccountCollector } from '../accounts/accountCollector.ts';
import type { Entry } from '../accounts/accounts.ts';
import { LONGEST_RANGE, OVERLAP } from '../inventory/counterLedger.ts';
import { describeProblems, findMissingMetrics } from '../inventory/entityRecords.ts';
import { onlyIds, unmatched, unmatchedWords } from '../inventory/selection.ts';

const LONGEST_NAME_SHOWN = 120;

/** The warnings about an account, each a sentence that says what to change. */
export function warningsOf(account: AccountCollector): string[] {
  return [
    ...noticesOf(account),
    ...(account.list === undefined ? unmatchedWarnings([account]) : []),
    ...tightLimits(account),
    ...slowCounters(account),
  ];
}

/**
 * The warnings about what the configuration names and no account has: of one account of the file, or of all accounts of an
 * entry, which share these keys.
 */
export function unmatchedWarnings(accounts: readonly AccountCollector[]): string[] {
  return [...unmatchedEntries(accounts, ['include', 'settings', 'tags']), ...unmatchedTemplates(accounts)];
}

/** Entries of `exclude` that match nothing: a warning of the command `check` only, for what they keep out may come any day. */
export function unmatchedExclusions(accounts: readonly AccountCollector[]): string[] {
  return unmatchedEntries(accounts, ['exclude']);
}

/** The warnings about an entry that may begin while the exporter runs. */
export function noticesOfEntry(entry: Entry): string[] {
  return [...(entry.expanded?.warnings ?? []), ...missingInEntry(entry)];
}

/** The golden metrics that no account of an entry has. */
export function missingInEntry({ accounts }: Entry): string[] {
  const [first] = accounts;
  return Array.from(first?.inventory.entities.types.values() ?? []).flatMap(({ selection: { type: entityType } }) =>
    describeProblems(
      findMissingMetrics(accounts.flatMap(({ inventory }) => inventory.entities.typeOf({ entityType }) ?? [])),
    ),
  );
}

/** The warnings that may begin while the exporter runs: states that look healthy but are not. */
export function noticesOf(account: AccountCollector): string[] {
  const ofQueries = [...account.inventory.queries.byName.values()].flatMap(({ warnings }) => warnings);
  const { entities } = account.inventory;
  return [
    ...fewApplications(account),
    ...unknownValues(account),
    ...usedInPart(account),
    ...entities.warnings(),
    ...ofQueries,
  ];
}

/**
 * Logs the new ones among the current warnings; one with other numbers is not new.
 *
 * @param before the result for the warnings of before
 */
export function logNew(logger: Logger, warnings: readonly string[], before: ReadonlySet<string>): ReadonlySet<string> {
  for (const warning of warnings) if (!before.has(withoutNumbers(warning))) logger.warn(warning);
  return new Set(warnings.map(withoutNumbers));
}

/** A sentence without its numbers; those in quotes are part of a name. */
function withoutNumbers(sentence: string): string {
  return sentence.replace(/("[^"]*")|(?<![\w./-])\d[\d.,]*/g, (_, quoted: string | undefined) => quoted ?? '#');
}

function fewApplications(account: AccountCollector): string[] {
  const { inventory, isWithoutApplications } = account;
  if (isWithoutApplications) return [];
  const listed = inventory.listedApplications?.length;
  if (listed === undefined || !account.up) return [];
  const ids = onlyIds(account.context.account.applications);
  // Only these are asked for: that none exists says nothing of the account, which may have others.
  if (listed === 0 && ids !== undefined) {
    return [
      `applications.include: no application has ${ids.length === 1 ? 'the id' : 'one of the ids'} ${ids.join(', ')}: correct the entry or remove it`,
    ];
  }
  const largest = inventory.largestList();
  const remedy = 'look whether the key still sees all of the account (role, account_id, region)';
  if (listed === 0) return [`the account lists no application: ${remedy}`];
  if (listed >= largest) return [];
  return [`the account lists ${listed} applications, and listed ${largest} within the last hour: ${remedy}`];
}

/** The custom metrics of which some names are used only, because New Relic has more: one sentence for all that are alike. */
function usedInPart({ inventory }: AccountCollector): string[] {
  const all = [...inventory.applications.values()].map(({ entry: { name }, data }) => ({ name, cut: data?.cut ?? [] }));
  return [...new Set(all.flatMap(({ cut }) => cut))].map((words) => {
    const [first = '', ...others] = all.filter(({ cut }) => cut.includes(words)).map(({ name }) => name);
    const shown = JSON.stringify(first.slice(0, LONGEST_NAME_SHOWN));
    return `custom_metrics: ${shown} ${others.length === 0 ? 'has' : `and ${others.length} more have`} ${words}`;
  });
}

function unknownValues({ context: { customMetrics }, inventory }: AccountCollector): string[] {
  const withoutValue = new Map<CustomMetric, string>();
  const found = new Set<CustomMetric>();
  for (const { data } of inventory.applications.values()) {
    if (found.size === customMetrics.length) break;
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

/** What matches nothing in the lists of these accounts. While an account cannot be read, a wrong `account_id` may be the cause. */
function unmatchedEntries(all: readonly AccountCollector[], keys: readonly (keyof Entries)[]): string[] {
  const accounts = all.filter(({ up }) => up);
  const [first] = accounts;
  const waits = ({ context, inventory }: AccountCollector): boolean =>
    context.account.applications.read && !inventory.applicationList.tried;
  if (first === undefined || all.some(waits)) return [];
  const { account } = first.context;
  const { applications, key_transactions, account_id, origin } = account;
  const whose = origin === undefined ? `account ${account_id ?? account.name}` : `no account of entry ${origin.entry}`;
  const { include, exclude, settings, tags } = applications;
  /** The lists of all accounts; undefined while one was not read. */
  const inAll = <T>(listOf: (account: AccountCollector) => readonly T[] | undefined): readonly T[] | undefined => {
    const lists = accounts.map(listOf);
    return lists.includes(undefined) ? undefined : lists.flatMap((list) => list ?? []);
  };
  const ofApplications: Entries = {
    include,
    // A list that is read by ids lacks what else an entry may leave out.
    exclude: onlyIds(applications) === undefined ? exclude : [],
    settings: settings.map(({ match }) => match),
    tags: ofTags(tags),
  };
  const ofKeyTransactions = typeof key_transactions === 'boolean' ? {} : key_transactions;
  const unmatchedIn = (path: string, noun: string, entries: Entries, listed: readonly Matchable[] | undefined) =>
    keys.flatMap((key) =>
      unmatched(entries[key], listed).map((match) => `${path}.${key}: no ${noun} has ${unmatchedWords(match, listed)}`),
    );
  const listedApplications = inAll(({ inventory }) => inventory.listedApplications);
  const listedKeyTransactions = inAll(({ inventory }) => inventory.listedKeyTransactions);
  return [
    ...unmatchedIn('applications', 'application', ofApplications, listedApplications),
    ...unmatchedIn('key_transactions', 'key transaction', ofKeyTransactions, listedKeyTransactions),
    ...account.entities.flatMap((selection) => {
      const { type: entityType } = selection;
      const listed = inAll(({ inventory }) => inventory.entities.typeOf({ entityType })?.listed);
      if (listed?.length !== 0 || !keys.includes('include')) {
        return unmatchedIn(
          'entities',
          `entity of ${entityType}`,
          { ...selection, tags: ofTags(selection.tags) },
          listed,
        );
      }
      const has = origin === undefined ? 'has no' : 'has an';
      return (
        `entities: ${whose} ${has} entity of ${entityType}: look whether both are right; ` +
        'the command discover --entities lists the types'
      );
    }),
  ];
}

type Entries = Readonly<
  Partial<Record<'include' | 'exclude' | 'settings' | 'tags', readonly EntityMatch[] | undefined>>
>;

function ofTags(tags: readonly string[]): readonly EntityMatch[] {
  return tags.map((tag) => ({ tag }));
}

function unmatchedTemplates(accounts: readonly AccountCollector[]): string[] {
  const data = accounts.flatMap(({ inventory }) => [...inventory.applications.values()].flatMap((of) => of.data ?? []));
  // Without the names it is not known which metrics match.
  if (data.length === 0 || data.some(({ customNames }) => customNames === undefined)) return [];
  const read = data.flatMap(({ customNames }) => customNames ?? []);
  return (accounts[0]?.context.customMetrics ?? [])
    .filter(({ template }) => !read.some((name) => template.pattern.test(name)))
    .map(
      ({ definition }) =>
        `custom_metrics: "${definition.match}" (${definition.name}) matches no metric of any application`,
    );
}

function tightLimits({ schedule, context }: AccountCollector): string[] {
  const { callsPerMinute, budget, concurrencyCapacity, slowdown } = schedule.plan;
  if (slowdown <= 1) return [];
  const needed = `a refresh of everything needs ${Math.ceil(callsPerMinute)} calls per minute`;
  const slower = `so every group is refreshed ${slowdown.toFixed(1)} times slower`;
  const remedy = 'lengthen collection.intervals, or narrow applications.include';
  if (slowdown <= callsPerMinute / budget || concurrencyCapacity === undefined) {
    return [`limits.requests_per_minute: ${needed} and the budget is ${budget}, ${slower}: raise it, ${remedy}`];
  }
  const { max_concurrent_requests: slots } = context.account.limits;
  const seconds = ((60 * slots) / concurrencyCapacity).toFixed(1);
  return [
    `limits.max_concurrent_requests: ${needed}, and ${slots} at once carry ${Math.floor(concurrencyCapacity)} while one ` +
      `takes ${seconds} s, ${slower}: raise it, ${remedy}`,
  ];
}

function slowCounters({ schedule, context }: AccountCollector): string[] {
  if (!context.enabled.has('counters')) return [];
  const interval = schedule.effectiveIntervalOf({ group: 'counters' });
  if (interval <= 1000 * (LONGEST_RANGE - OVERLAP)) return [];
  return [
    `counters: read every ${Math.round(interval / 60_000)} minutes, and a reading reaches back 40 minutes beyond what was read ` +
      'before, so minutes will be lost: raise the limits, or narrow applications.include',
  ];
}

import type { EntryStatus, TaskStatus } from '../../collect/serve/accountStatus.ts';
import { remedyFor, type FailureGroup } from '../../collect/serve/failureGroups.ts';
import type { ReloadFailure } from '../dependencies.ts';
import { counted, durationInWords, timeInWords, withCommas } from '../../text/wording.ts';
import { isServing, isUnread, type ShownAccount } from './shownAccounts.ts';
import type { Row } from './trouble.ts';

/** Input for the problems and the verdict. Times are in seconds. */
export interface Situation {
  readonly accounts: readonly ShownAccount[];
  /** The entries with `account_ids`. */
  readonly entries: readonly EntryStatus[];
  readonly rows: readonly Row[];
  readonly reloadFailure: ReloadFailure | undefined;
  readonly now: number;
  /** Seconds since the newest scrape; undefined before the first scrape. */
  readonly silence: number | undefined;
  readonly background: boolean;
  readonly maxAge: number;
  /** Telemetry path, as clients request it. */
  readonly scraped: string;
}

/** A problem for an operator. Times are Unix seconds. */
export interface Problem {
  /** A pause is not a failure: New Relic limits the rate. */
  readonly kind: 'unread' | 'list' | 'reads' | 'reload' | 'pause';
  readonly headline: string;
  readonly remedy: string | undefined;
  readonly since?: number | undefined;
  /** The values that are served meanwhile. */
  readonly served?: string;
  /** New Relic's messages, or the faults of a reload. */
  readonly raw?: readonly string[];
  readonly accounts?: readonly ShownAccount[];
  /** For `reads`: the failing tasks, the most failed attempts first. */
  readonly tasks?: readonly TaskStatus[];
}

/** Limits of names in a sentence: characters of a name, number of names. */
const MAX_NAME = 60;
const NAMED = 3;
const SHOWN_FAULTS = 5;
const LAST_VALUES = 'The last good values';

/** Writes a headline for failures, by their reason. */
const SENTENCES: Readonly<Record<FailureGroup['reason'], (subject: string) => string>> = {
  auth: (subject) => `New Relic refuses the key of ${subject}`,
  forbidden: (subject) => `New Relic does not let the key read ${subject}`,
  not_found: (subject) => `New Relic does not find ${subject}`,
  rate_limited: (subject) => `New Relic limits the calls of ${subject}`,
  timeout: (subject) => `New Relic does not answer in time for ${subject}`,
  network: (subject) => `New Relic cannot be reached for ${subject}`,
  server: (subject) => `New Relic fails with a server error for ${subject}`,
  redirect: (subject) => `New Relic redirects the calls for ${subject}`,
  invalid_response: (subject) => `New Relic sends an unreadable response for ${subject}`,
  too_large: (subject) => `New Relic sends too large a response for ${subject}`,
  other: (subject) => `New Relic rejects the calls of ${subject}`,
};

/** Returns all problems, the gravest first. */
export function findProblems({ accounts, entries, reloadFailure, now }: Situation): readonly Problem[] {
  const paused = accounts.filter(({ budget }) => budget.pausedUntil !== undefined);
  return [
    ...describeUnread(accounts, now),
    ...entries.filter((entry) => !isReportedByAccounts(entry, accounts)).flatMap(describeListFailure),
    ...accounts.flatMap(describeFailingReads).sort((a, b) => b.tasks.length - a.tasks.length),
    ...(reloadFailure === undefined ? [] : [describeReloadFailure(reloadFailure)]),
    ...(paused.length === 0 ? [] : [describePause(paused, now)]),
  ];
}

/** Without an outage, the account is unread because its entry's key is refused. */
const reasonOfAccount = ({ outage }: ShownAccount) => outage?.reason ?? 'auth';

/** Returns one problem for each reason why accounts cannot be read. */
function describeUnread(all: readonly ShownAccount[], now: number): readonly Problem[] {
  const unread = all.filter(isUnread);
  return Array.from(new Set(unread.map(reasonOfAccount)), (reason) => {
    const accounts = unread.filter((account) => reasonOfAccount(account) === reason);
    const newest = Math.max(...accounts.flatMap(({ groups }) => groups.map(({ lastSuccess = 0 }) => lastSuccess)));
    const since = Math.min(...accounts.map(({ outage }) => outage?.since ?? Infinity));
    const until = Math.max(...accounts.map(({ outage }) => outage?.servedUntil ?? 0));
    const news = newest > 0 ? `nothing new since ${timeInWords(newest)}` : 'nothing was read yet';
    const last = accounts.some(isServing) ? LAST_VALUES : 'Nothing';
    return {
      kind: 'unread',
      headline: `${SENTENCES[reason](nameAccounts(accounts))}: ${news}`,
      remedy: remedyFor(reason),
      since: Number.isFinite(since) ? since : undefined,
      served: until > now ? `${LAST_VALUES}, until ${describeEnd(until, now)}` : last,
      raw: [...new Set(accounts.map(({ outage, refused }) => outage?.problem ?? refused ?? ''))],
      accounts,
    };
  });
}

/** True if accounts of the entry already report its refused key. */
function isReportedByAccounts({ entry, refused }: EntryStatus, accounts: readonly ShownAccount[]): boolean {
  return refused !== undefined && accounts.some((account) => account.entry === entry && account.refused === refused);
}

function describeListFailure({ entry, problem, reason = 'other', remedy, since }: EntryStatus): readonly Problem[] {
  if (problem === undefined) return [];
  const headline = SENTENCES[reason](`${shorten(entry)}, the list of its accounts`);
  return [{ kind: 'list', headline, remedy, since, served: 'Its accounts stay as they were', raw: [problem] }];
}

/** Reasons that stop all reads of an account, and so make one problem. */
const WHOLE_ACCOUNT = new Set<FailureGroup['reason']>(['auth', 'network', 'redirect', 'server', 'timeout']);

/** Returns the problems of an account, except the reason why it cannot be read as a whole. A refused key is one. */
function describeFailingReads(account: ShownAccount) {
  const { failures, outage, name } = account;
  const accountReason = isUnread(account) ? reasonOfAccount(account) : undefined;
  const further = failures.filter(({ reason, problem }) =>
    reason === accountReason ? !WHOLE_ACCOUNT.has(reason) && problem !== outage?.problem : true,
  );
  const alike = further.map((failure) => (failure.reason === 'auth' ? 'auth' : failure));
  return [...new Set(alike)].map((key) => {
    const together = further.filter((failure) => (key === 'auth' ? failure.reason === key : failure === key));
    const tasks = together.flatMap((failure) => failure.tasks);
    const reason = key === 'auth' ? key : key.reason;
    const groups = [...new Set(together.map(({ group }) => group))];
    const subject = groups.length > 1 ? inWords(groups) : nameReads(groups.join(''), tasks);
    return {
      kind: 'reads',
      headline: SENTENCES[reason](`${subject} (${shorten(name)})`),
      remedy: remedyFor(reason),
      since: Math.min(...together.map(({ since }) => since)),
      served: describeServed(tasks),
      raw: [...new Set(together.map(({ problem }) => problem))],
      accounts: [account],
      tasks,
    } as const;
  });
}

/** Returns `host_metrics of web-01 and 3 more`. */
function nameReads(group: string, tasks: readonly TaskStatus[]): string {
  const [worst] = tasks;
  const name = worst?.entity ?? worst?.query ?? worst?.host ?? worst?.application ?? worst?.entityType;
  const more = tasks.length > 1 ? ` and ${withCommas(tasks.length - 1)} more` : '';
  return `${group}${name === undefined ? '' : ` of ${shorten(name)}`}${more}`;
}

function describeServed(tasks: readonly TaskStatus[]): string {
  const missing = tasks.filter(({ state }) => state === 'missing').length;
  if (missing === 0) return LAST_VALUES;
  if (missing === tasks.length) return 'Nothing';
  return `Nothing for ${withCommas(missing)}, the last good values for ${withCommas(tasks.length - missing)}`;
}

function describeReloadFailure({ failedAt: since, diagnostics }: ReloadFailure): Problem {
  const rest = diagnostics.length - SHOWN_FAULTS;
  const raw = [...diagnostics.slice(0, SHOWN_FAULTS), ...(rest > 0 ? [`and ${counted(rest, 'more fault')}`] : [])];
  const headline = 'The last reload failed: the previous configuration stays in force';
  const remedy = 'correct the file, try it with the command "check", and reload';
  return { kind: 'reload', headline, remedy, since, raw };
}

function describePause(accounts: readonly ShownAccount[], now: number): Problem {
  const until = Math.max(...accounts.map(({ budget }) => budget.pausedUntil ?? now));
  const headline = `Rate limited by New Relic: calls of ${nameAccounts(accounts)} pause until ${describeEnd(until, now)}`;
  return { kind: 'pause', headline, remedy: remedyFor('rate_limited'), served: LAST_VALUES, accounts };
}

const describeEnd = (until: number, now: number) =>
  `${timeInWords(until)}, ${durationInWords(Math.ceil(until - now))} from now`;

/** Returns `production`, `a, b and c`, or `6 accounts (a, b, c and 3 more)`. */
function nameAccounts(accounts: readonly ShownAccount[]): string {
  const names = accounts.slice(0, NAMED).map(({ name }) => shorten(name));
  const rest = accounts.length - NAMED;
  return rest > 0 ? `${counted(accounts.length, 'account')} (${names.join(', ')} and ${rest} more)` : inWords(names);
}

/** Returns `a`, `a and b`, or `a, b and c`. */
function inWords(names: readonly string[]): string {
  return [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((name) => name !== '').join(' and ');
}

export function shorten(name: string): string {
  const characters = Array.from(name.slice(0, 2 * MAX_NAME));
  return characters.length > MAX_NAME ? `${characters.slice(0, MAX_NAME - 1).join('')}\u2026` : name;
}

import type { EntryStatus } from '../../collect/accountStatus.ts';
import { ago, counted } from '../../text/wording.ts';
import { isUnread, type ShownAccount } from './shownAccounts.ts';
import { rankOf, troubleInWords, troubleStyle, type ApplicationRow } from './trouble.ts';

export interface Verdict {
  readonly verdict: 'nothing_read' | 'not_scraped' | 'failing' | 'trouble' | 'well';
  readonly text: string;
  /** The reads that fail or the applications in trouble, or 0. */
  readonly count: number;
  /** How it is shown: `good` only where all is read, nothing is warned about, and no entity is in trouble. */
  readonly style: 'bad' | 'warn' | 'good';
}

/** Longest text of a failure or a name in a verdict, in characters. */
const MAX_TEXT = 160;
const NAMED = 3;

/**
 * The first that holds: nothing is read or served, reads fail, applications are in trouble, all is well. Times are in seconds:
 * `silence` since the newest scrape, undefined before the first. `scraped` is the path as clients must ask for it.
 */
export function verdictOf(situation: {
  readonly accounts: readonly ShownAccount[];
  readonly entries: readonly EntryStatus[];
  readonly rows: readonly ApplicationRow[];
  readonly now: number;
  readonly silence: number | undefined;
  readonly background: boolean;
  readonly maxAge: number;
  readonly reloadFailed: boolean;
  readonly scraped: string;
}): Verdict {
  const { accounts, entries, rows, now, silence, background, maxAge, reloadFailed, scraped } = situation;
  const is = (verdict: Verdict['verdict'], style: Verdict['style'], text: string, count = 0) => {
    return { verdict, style, text, count };
  };
  const groups = accounts.flatMap((account) => account.groups);
  if (!background && silence === undefined) {
    return is('nothing_read', 'warn', `Nothing read yet: the exporter reads when ${scraped} is scraped`);
  }
  const lists = entries.filter(({ problem }) => problem !== undefined);
  if (lists.length === 0 && groups.every(({ success }) => success === undefined)) {
    return is('nothing_read', 'warn', 'Nothing read yet: the first reads are under way');
  }
  const states = accounts.map((account) => account.states);
  const total = states.reduce((sum, { fresh, stale, missing }) => sum + fresh + stale + missing, 0);
  const served = total - states.reduce((sum, { missing }) => sum + missing, 0);
  if (!background && silence !== undefined && silence > longestSilence(accounts, maxAge)) {
    const isServed = accounts.some(({ isServing }) => isServing);
    const left = isServed ? 'values are served that get too old' : 'nothing is served now';
    return is('not_scraped', 'bad', `Last scrape ${ago(0, silence)}: ${left}`);
  }
  const troubled = rows.filter(({ rank }) => rank < Infinity);
  const trouble = troubled.length === 0 ? [] : [`${counted(troubled.length, 'application')} in trouble`];
  const failing = accounts.reduce((sum, account) => sum + account.failing, lists.length);
  if (failing > 0) {
    const text = `${failing} of ${counted(Math.max(total, failing), 'read')} ${failing === 1 ? 'fails' : 'fail'}: ${worstFailure(accounts, lists)}`;
    return is('failing', 'bad', [text, ...trouble].join('; '), failing);
  }
  if (reloadFailed) return is('failing', 'bad', ['The last reload failed', ...trouble].join('; '), 1);
  if (troubled.length > 0) {
    const named = troubled
      .slice(0, NAMED)
      .map(({ application }) => `${short(application.name)} (${troubleInWords(application)})`);
    const more = troubled.length - NAMED;
    const names = more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
    return is('trouble', troubleStyle(troubled[0]?.rank ?? 0), `${trouble.join('')}: ${names}`, troubled.length);
  }
  const warnings = [...accounts, ...entries].reduce((sum, each) => sum + each.warnings.length, 0);
  const newest = Math.max(...groups.map(({ lastSuccess = -Infinity }) => lastSuccess));
  const entities = accounts.reduce(
    (sum, { monitored }) => sum + monitored.filter((entity) => rankOf(entity) < Infinity).length,
    0,
  );
  const isComplete = served === total;
  const text = [
    `${isComplete ? 'All' : `${served} of ${total}`} read`,
    ...(Number.isFinite(newest) ? [ago(newest, now)] : []),
    ...(warnings === 0 ? [] : [counted(warnings, 'warning')]),
    ...(isComplete && rows.length > 0 ? [`no trouble in ${counted(rows.length, 'application')}`] : []),
    ...(entities === 0 ? [] : [`${counted(entities, 'entity', 'entities')} in trouble`]),
  ].join(', ');
  return is('well', isComplete && warnings + entities === 0 ? 'good' : 'warn', text);
}

/** Seconds without a scrape after which values get too old to be served: `max_age` and two intervals, the shortest there is. */
function longestSilence(accounts: readonly ShownAccount[], maxAge: number): number {
  const intervals = accounts.flatMap(({ groups }) => groups.map((group) => group.effectiveIntervalSeconds));
  return maxAge + 2 * Math.min(...intervals);
}

/** Why accounts cannot be read, else the failure that most reads share. */
export function worstFailure(accounts: readonly ShownAccount[], lists: readonly EntryStatus[] = []): string {
  const unread = accounts.filter(isUnread);
  const reasons = new Set(unread.map(({ outage, refused }) => short(outage?.problem ?? refused ?? '')));
  const [[why = ''], [first]] = [[...reasons], unread];
  if (first !== undefined) {
    if (accounts.length === 1) return why;
    const name = short(first.name);
    if (unread.length === 1) return `account ${name} cannot be read: ${why}`;
    return `${unread.length} accounts cannot be read${reasons.size === 1 ? '' : `, ${name}`}: ${why}`;
  }
  const [list] = lists;
  if (list !== undefined) {
    return `the list of accounts of ${short(list.entry)} cannot be read: ${short(list.problem ?? '')}`;
  }
  const [worst] = accounts.flatMap(({ failures }) => failures).sort((a, b) => b.tasks.length - a.tasks.length);
  return worst === undefined ? '' : `${worst.group}: ${short(worst.problem)}`;
}

/** A text of bounded length. */
export function short(text: string): string {
  const characters = Array.from(text.slice(0, 2 * MAX_TEXT));
  return characters.length > MAX_TEXT ? `${characters.slice(0, MAX_TEXT - 1).join('')}\u2026` : text;
}

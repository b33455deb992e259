import type { EntryStatus } from '../../collect/entryStatus.ts';
import { ago, counted } from './markup.ts';
import { isUnread, type ShownAccount } from './shownAccounts.ts';
import { troubleInWords, type ApplicationRow } from './trouble.ts';

/** What the verdict is about; `now` is Unix seconds. */
export interface Situation {
  readonly accounts: readonly ShownAccount[];
  readonly entries: readonly EntryStatus[];
  readonly rows: readonly ApplicationRow[];
  readonly now: number;
  /** Seconds since the newest scrape; undefined before the first. */
  readonly silence: number | undefined;
  readonly background: boolean;
  /** `collection.max_age` in seconds. */
  readonly maxAge: number;
  readonly reloadFailed: boolean;
  /** The path that is scraped, as clients must ask for it. */
  readonly scraped: string;
}

export interface Verdict {
  readonly verdict: 'nothing_read' | 'not_scraped' | 'failing' | 'trouble' | 'well';
  readonly text: string;
  /** The reads that fail or the applications in trouble, or 0. */
  readonly count: number;
  /** True where the verdict is `well`, all is read and nothing is warned about. */
  readonly isGood: boolean;
}

/** Longest text of a failure or a name in a verdict, in characters. */
const MAX_TEXT = 160;
const NAMED = 3;

/** The first that holds: nothing is read or served, reads fail, applications are in trouble, all is well. */
export function verdictOf(situation: Situation): Verdict {
  const { accounts, entries, rows, now, silence, background, reloadFailed, scraped } = situation;
  const is = (verdict: Verdict['verdict'], text: string, count = 0) => ({ verdict, text, count, isGood: false });
  const groups = accounts.flatMap((account) => account.groups);
  if (!background && silence === undefined) {
    return is('nothing_read', `Nothing read yet: the exporter reads when ${scraped} is scraped`);
  }
  const lists = entries.filter(({ problem }) => problem !== undefined);
  if (lists.length === 0 && groups.every(({ success }) => success === undefined)) {
    return is('nothing_read', 'Nothing read yet: the first reads are under way');
  }
  const states = accounts.map((account) => account.states);
  const total = states.reduce((sum, { fresh, stale, missing }) => sum + fresh + stale + missing, 0);
  const served = total - states.reduce((sum, { missing }) => sum + missing, 0);
  if (!background && silence !== undefined && silence > longestSilence(situation)) {
    const isServed = accounts.some(({ isServing }) => isServing);
    const left = isServed ? 'values are served that get too old' : 'nothing is served any more';
    return is('not_scraped', `Last scrape ${ago(0, silence)}: ${left}`);
  }
  const troubled = rows.filter(({ rank }) => rank < Infinity);
  const trouble = troubled.length === 0 ? [] : [`${counted(troubled.length, 'application')} in trouble`];
  const failing = accounts.reduce((sum, account) => sum + account.failing, lists.length);
  if (failing > 0) {
    const text = `${failing} of ${counted(Math.max(total, failing), 'read')} ${failing === 1 ? 'fails' : 'fail'}: ${worstFailure(accounts, lists)}`;
    return is('failing', [text, ...trouble].join('; '), failing);
  }
  if (reloadFailed) return is('failing', ['The last reload failed', ...trouble].join('; '), 1);
  if (troubled.length > 0) {
    const named = troubled
      .slice(0, NAMED)
      .map(({ application }) => `${short(application.name)} (${troubleInWords(application)})`);
    const more = troubled.length - NAMED;
    const names = more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
    return is('trouble', `${trouble.join('')}: ${names}`, troubled.length);
  }
  const warnings = [...accounts, ...entries].reduce((sum, each) => sum + each.warnings.length, 0);
  const newest = Math.max(...groups.map(({ lastSuccess = -Infinity }) => lastSuccess));
  const text = [
    `${served === total ? 'All' : `${served} of ${total}`} read`,
    ...(Number.isFinite(newest) ? [ago(newest, now)] : []),
    ...(warnings === 0 ? [] : [counted(warnings, 'warning')]),
  ].join(', ');
  return { ...is('well', text), isGood: served === total && warnings === 0 };
}

/** Seconds without a scrape after which values get too old to be served: `max_age` and two intervals, the shortest there is. */
function longestSilence({ accounts, maxAge }: Situation): number {
  const intervals = accounts.flatMap(({ groups }) => groups.map((group) => group.effectiveIntervalSeconds));
  return maxAge + 2 * Math.min(...intervals);
}

/** Why an account cannot be read, else the failure that most reads share. */
export function worstFailure(accounts: readonly ShownAccount[], lists: readonly EntryStatus[] = []): string {
  const unread = accounts.find(isUnread);
  if (unread !== undefined) {
    const why = short(unread.outage?.problem ?? unread.refused ?? '');
    return accounts.length === 1 ? why : `account ${short(unread.name)} cannot be read: ${why}`;
  }
  const [list] = lists;
  if (list !== undefined) {
    return `the list of accounts of ${short(list.entry)} cannot be read: ${short(list.problem ?? '')}`;
  }
  const [worst] = accounts.flatMap(({ failures }) => failures).sort((a, b) => b.tasks.length - a.tasks.length);
  return worst === undefined ? '' : `${worst.group}: ${short(worst.problem)}`;
}

/** A text of bounded length. */
function short(text: string): string {
  const characters = Array.from(text.slice(0, 2 * MAX_TEXT));
  return characters.length > MAX_TEXT ? `${characters.slice(0, MAX_TEXT - 1).join('')}\u2026` : text;
}

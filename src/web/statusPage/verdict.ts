import { ago, counted, withCommas } from '../../text/wording.ts';
import { shorten, type Problem, type Situation } from './problems.ts';
import { isServing } from './shownAccounts.ts';
import type { Row } from './trouble.ts';

type Name = 'nothing_read' | 'not_scraped' | 'failing' | 'trouble' | 'incomplete' | 'well';

export type Verdict = ReturnType<typeof createVerdict>;

/** `count` is the number of failing reads, rows in trouble, or reads without a value; else 0. */
function createVerdict(verdict: Name, style: 'bad' | 'warn' | 'good', text: string, count = 0) {
  return { verdict, style, text, count };
}

const NAMED = 5;

/** Returns the first verdict that holds. */
export function judge(situation: Situation, problems: readonly Problem[]): Verdict {
  const { accounts, entries, rows, now, silence, background, maxAge, scraped } = situation;
  if (!background && silence === undefined) {
    return createVerdict('nothing_read', 'warn', `Nothing read yet: the exporter reads when ${scraped} is scraped`);
  }
  const groups = accounts.flatMap((account) => account.groups);
  const failingLists = entries.filter(({ problem }) => problem !== undefined).length;
  if (failingLists === 0 && groups.every(({ success }) => success === undefined)) {
    return createVerdict('nothing_read', 'warn', 'Nothing read yet: the first reads are under way');
  }
  // Seconds without a scrape after which all values are too old to be served.
  const longest = maxAge + 2 * Math.min(...groups.map(({ effectiveIntervalSeconds }) => effectiveIntervalSeconds));
  if (!background && silence !== undefined && silence > longest) {
    const served = accounts.some(isServing) ? 'values are going stale' : 'nothing is served now';
    return createVerdict('not_scraped', 'bad', `Last scrape ${ago(0, silence)}: ${served}`);
  }
  const trouble = describeTrouble(rows);
  const failures = problems.filter(({ kind }) => kind !== 'pause');
  const [first] = failures;
  if (first !== undefined) {
    const failing = accounts.reduce((sum, account) => sum + account.failing, failingLists);
    const reads = accounts.reduce((sum, { tasks }) => sum + tasks.length, 0);
    const fail = `${withCommas(failing)} of ${counted(Math.max(reads, failing), 'read')} ${failing === 1 ? 'fails' : 'fail'}`;
    const headline = first.kind === 'reads' ? `${fail}: ${first.headline}` : first.headline;
    const others = failures.length > 1 && counted(failures.length - 1, 'more problem');
    const text = [headline, others, trouble && `${trouble.what} in trouble`];
    return createVerdict('failing', 'bad', text.filter(Boolean).join('; '), Math.max(1, failing));
  }
  if (trouble !== undefined) {
    return createVerdict('trouble', trouble.style, `${trouble.what} in trouble: ${trouble.names}`, trouble.count);
  }
  const requested = groups.reduce((sum, { tasks }) => sum + tasks.fresh + tasks.stale + tasks.missing, 0);
  const missing = groups.reduce((sum, { tasks }) => sum + tasks.missing, 0);
  if (missing > 0) {
    const text = `No read fails, but ${withCommas(missing)} of ${counted(requested, 'read')} ${missing === 1 ? 'has' : 'have'} no value that may be served`;
    return createVerdict('incomplete', 'warn', text, missing);
  }
  const newest = Math.max(...groups.map(({ lastSuccess = -Infinity }) => lastSuccess));
  const warnings = [...accounts, ...entries].reduce((sum, each) => sum + each.warnings.length, 0);
  const watched = countRows(rows);
  const age = Number.isFinite(newest) && ago(newest, now);
  const text = ['All read', age, watched && `no trouble in ${watched}`, warnings > 0 && counted(warnings, 'warning')];
  return createVerdict('well', 'good', text.filter(Boolean).join(', '));
}

/** Names the applications and entities with the gravest troubles. */
function describeTrouble(rows: readonly Row[]) {
  const troubled = rows.filter(({ troubles }) => troubles.length > 0);
  const [gravest] = troubled;
  if (gravest === undefined) return undefined;
  const named = troubled.slice(0, NAMED).map(({ type, name, troubles }) => {
    const shown = type === undefined ? shorten(name) : `${type} ${shorten(name)}`;
    return `${shown} (${troubles.map(({ text }) => text).join(', ')})`;
  });
  const more = troubled.length > NAMED ? ` and ${withCommas(troubled.length - NAMED)} more` : '';
  const [what, names] = [countRows(troubled), `${named.join(', ')}${more}`];
  return { what, names, count: troubled.length, style: gravest.troubles[0]?.style ?? 'bad' };
}

/** Returns `2 applications and 1 entity`. Omits a number that is 0. */
function countRows(rows: readonly Row[]): string {
  const applications = rows.filter(({ type }) => type === undefined).length;
  const entities = rows.length - applications;
  const both = [
    applications > 0 && counted(applications, 'application'),
    entities > 0 && counted(entities, 'entity', 'entities'),
  ];
  return both.filter(Boolean).join(' and ');
}

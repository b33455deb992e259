import type { TaskStatus } from '../../collect/accountStatus.ts';
import { ago, counted, timeInWords, withCommas } from '../../text/wording.ts';
import { addressOf, type Query } from './applicationsSection.ts';
import { breakable, DOT, facts, fold, markup, isolate, join, list, type Html, type HtmlValue } from './markup.ts';
import type { Problem } from './problems.ts';
import type { Verdict } from './verdict.ts';

/** Limits for the problems that stand open at the top and behind a fold, and for the names in one. */
const OPEN = 5;
const FOLDED = 40;
const NAMED = 10;

/** Says first what to do about each problem; undefined if there is none. The verdict's own sentence is not repeated. */
export function problemSection(
  problems: readonly Problem[],
  verdict: Verdict,
  query: Query,
  now: number,
  docs: string,
): Html | undefined {
  if (problems.length === 0) return undefined;
  const boxes = problems.slice(0, OPEN + FOLDED).map((problem) => problemBox(problem, verdict, query, now, docs));
  const rest = problems.length - OPEN;
  const beyond = rest > FOLDED ? markup`<p>The others are in the JSON of this page.</p>` : undefined;
  const folded = rest > 0 ? fold(counted(rest, 'more problem'), [boxes.slice(OPEN), beyond], query.isOpen) : undefined;
  return markup`<div role="alert">${boxes.slice(0, OPEN)} ${folded}</div>`;
}

function problemBox(problem: Problem, verdict: Verdict, query: Query, now: number, docs: string): Html {
  const { kind, headline, remedy, since, served, raw, accounts, tasks } = problem;
  const title = verdict.text.includes(headline) ? undefined : markup`<p><b>${breakable(headline)}</b></p>`;
  const links = accounts.slice(0, NAMED).map((account) => {
    return markup`<a href="${addressOf(query, { search: account.name, page: 1 })}">${isolate(account.name)}</a>`;
  });
  const more = accounts.length > NAMED ? ` and ${withCommas(accounts.length - NAMED)} more` : undefined;
  const messages = raw.map((text) => markup`<code>${breakable(text)}</code>`);
  const names = tasks.length > 0 ? markup`<p>${nameTasks(tasks)}</p>` : undefined;
  const what =
    kind === 'reload' ? 'The faults' : `What New Relic answered${names === undefined ? '' : ', and for what'}`;
  const all = kind === 'reload' ? undefined : markup` <a href="${docs}/errors.md#failed-calls">All reasons</a>`;
  const rows = facts('', [
    ['What to do', remedy && [`${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`, all]],
    ['Served', served && `${served}.`],
    ['Since', since && `${timeInWords(since)}, ${ago(since, now)}`],
    ['Account', names === undefined && links.length > 0 ? [join(links, ', '), more] : undefined],
  ]);
  const details =
    raw.length > 0 ? fold(what, [list('', messages), names], kind === 'reload' || query.isOpen) : undefined;
  return markup`<div class="notice ${kind === 'pause' ? 'warn' : 'bad'}">${title}${rows}${details}</div>`;
}

function nameTasks(tasks: readonly TaskStatus[]): HtmlValue {
  const names = tasks.slice(0, NAMED).map((task) => nameTask(task) ?? 'the list of the account');
  const more = tasks.length - NAMED;
  return [join(names, ', '), more > 0 ? ` and ${withCommas(more)} more` : undefined];
}

/** Names the application, host, entity or query of a task; undefined for a list of the account. */
export function nameTask(task: TaskStatus): Html | undefined {
  const { application, applicationId, host, hostId, entityType, entity, entityGuid, query } = task;
  const names = [
    entityGuid === undefined ? undefined : isolate(entity ?? entityGuid),
    ...[entityType, query].map((name) => (name === undefined ? undefined : isolate(name))),
    host === undefined && hostId === undefined ? undefined : markup`host ${isolate(host ?? hostId)}`,
    applicationId === undefined ? undefined : markup`${isolate(application)} <small>${applicationId}</small>`,
  ].filter((part) => part !== undefined);
  return names.length === 0 ? undefined : markup`${join(names, DOT)}`;
}

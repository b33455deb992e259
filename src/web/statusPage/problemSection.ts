import type { TaskStatus } from '../../collect/serve/accountStatus.ts';
import { ago, counted, timeInWords, withCommas } from '../../text/wording.ts';
import { addressOf, type Query } from './applicationsSection.ts';
import { breakable, DOT, facts, fold, markup, isolate, join, list, type Html, type HtmlValue } from './markup.ts';
import type { Problem } from './problems.ts';
import type { ShownAccount } from './shownAccounts.ts';
import type { View } from './statusDocument.ts';

/** Limits: problems that are open, problems behind the fold, names in one problem. */
const OPEN = 5;
const FOLDED = 40;
const NAMED = 10;

/** Returns a box per problem that says what to do; undefined without problems. Does not repeat the verdict. */
export function problemSection(view: View, query: Query, docs: string): Html | undefined {
  const { problems } = view;
  if (problems.length === 0) return undefined;
  const boxes = problems.slice(0, OPEN + FOLDED).map((problem) => problemBox(problem, view, query, docs));
  const rest = problems.length - OPEN;
  const beyond = rest > FOLDED ? markup`<p>The JSON of this page lists the rest.</p>` : undefined;
  const folded = rest > 0 ? fold(counted(rest, 'more problem'), [boxes.slice(OPEN), beyond], query.isOpen) : undefined;
  return markup`<div role="alert">${boxes.slice(0, OPEN)} ${folded}</div>`;
}

function problemBox(problem: Problem, { verdict, now }: View, query: Query, docs: string): Html {
  const { kind, headline, remedy, since, served, raw = [], accounts = [], tasks = [] } = problem;
  const isReload = kind === 'reload';
  const title = verdict.text.includes(headline) ? undefined : markup`<p><b>${breakable(headline)}</b></p>`;
  const link = ({ name }: ShownAccount) =>
    markup`<a href="${addressOf(query, { search: name, page: 1 })}">${isolate(name)}</a>`;
  const messages = raw.map((text) => markup`<code>${breakable(text)}</code>`);
  const all = isReload ? undefined : markup` <a href="${docs}/errors.md#failed-calls">All reasons</a>`;
  const rows = facts('', [
    ['What to do', remedy && [`${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`, all]],
    ['Served', served && `${served}.`],
    ['Since', since && `${timeInWords(since)}, ${ago(since, now)}`],
    ['Account', nameFirst(accounts, link)],
    ['For', nameFirst(tasks, nameTask)],
  ]);
  const what = isReload ? 'The faults' : 'What New Relic answered';
  const details = raw.length === 0 ? undefined : fold(what, list('', messages), isReload || query.isOpen);
  return markup`<div class="notice ${kind === 'pause' ? 'warn' : 'bad'}">${title}${rows}${details}</div>`;
}

/** Returns the first names and the number of further names; undefined without any. */
function nameFirst<T>(named: readonly T[], write: (each: T) => HtmlValue): HtmlValue {
  if (named.length === 0) return undefined;
  const more = named.length - NAMED;
  return [join(named.slice(0, NAMED).map(write), ', '), more > 0 ? ` and ${withCommas(more)} more` : undefined];
}

/** Names the application, host, entity or query of a task. */
export function nameTask(task: TaskStatus): HtmlValue {
  const { application, applicationId, host, hostId, entityType, entity, entityGuid, query } = task;
  const names = [entity ?? entityGuid, entityType, query, host ?? hostId, application ?? applicationId];
  const known = names.filter((name) => name !== undefined).map(isolate);
  return known.length === 0 ? 'the list of the account' : join(known, DOT);
}

import type { TaskStatus } from '../../collect/accountStatus.ts';
import type { FailureGroup } from '../../collect/failureGroups.ts';
import { counted, withCommas } from '../../text/wording.ts';
import { breakable, DOT, html, joined, table, timeAgo, type Html, type HtmlValue } from './markup.ts';

/** Limits for the named tasks of a failure group, and for the failure groups on the page. */
const NAMED = 3;
const SHOWN = 20;

/** The failures of the last attempts, a row for each group, reason and message; undefined if nothing failed. */
export function failureTable(failures: readonly FailureGroup[], now: number, docs: string): Html | undefined {
  if (failures.length === 0) return undefined;
  const rest = failures.length - SHOWN;
  const caption = html`Failing: <a href="${docs}/errors.md#failed-calls">what to do</a>`;
  const rows = table(
    caption,
    ['Group', 'Tasks', 'Why', 'Which', 'Since', 'Served'],
    failures
      .slice(0, SHOWN)
      .map((failure) => [
        html`<span class="group">${failure.group}</span>`,
        { style: 'number', value: failure.tasks.length },
        { style: 'long', value: breakable(inWords(failure)) },
        { style: 'long', value: namesOf(failure) },
        timeAgo(failure.since, now),
        servedOf(failure),
      ]),
  );
  return html`${rows}
  ${rest > 0 ? html`<p class="more">and ${counted(rest, 'other failure')}, in the JSON of this page.</p>` : undefined}`;
}

/** The message, with the reason in front where it does not say the reason itself. */
function inWords({ reason, problem }: FailureGroup): string {
  return problem.endsWith(`(reason ${reason})`) ? problem : `${reason}: ${problem}`;
}

function namesOf({ tasks }: FailureGroup): HtmlValue {
  const names = tasks.slice(0, NAMED).map((task) => subjectOf(task) ?? 'the list of the account');
  const more = tasks.length - NAMED;
  return [joined(names, ', '), more > 0 ? ` and ${withCommas(more)} more` : undefined];
}

function servedOf({ tasks }: FailureGroup): string {
  const states = [
    ['missing', 'nothing'],
    ['stale', 'last good values'],
    ['fresh', 'fresh values'],
  ] as const;
  const counts = states.map(([state, what]) => [tasks.filter((task) => task.state === state).length, what] as const);
  const present = counts.filter(([count]) => count > 0);
  if (present.length === 1) return present[0]?.[1] ?? '';
  return present.map(([count, what]) => `${what} (${withCommas(count)})`).join(', ');
}

/** The application, host, entity or query of a task; undefined for a list of the account. */
export function subjectOf(task: TaskStatus): Html | undefined {
  const { application, applicationId, host, hostId, entityType, entity, entityGuid, query } = task;
  const of = [
    entityGuid === undefined ? undefined : html`<bdi>${entity ?? entityGuid}</bdi>`,
    ...[entityType, query].map((name) => (name === undefined ? undefined : html`<bdi>${name}</bdi>`)),
    host === undefined && hostId === undefined ? undefined : html`host <bdi>${host ?? hostId}</bdi>`,
    application === undefined && applicationId === undefined
      ? undefined
      : html`<bdi>${application}</bdi> <small>${applicationId}</small>`,
  ].filter((part) => part !== undefined);
  return of.length === 0 ? undefined : html`${joined(of, DOT)}`;
}

import { GROUPS_WITH_WINDOWS } from '../../collect/accountSnapshot.ts';
import type { AccountStatus, GroupStatus, QueryStatus, TaskStatus, TypeStatus } from '../../collect/accountStatus.ts';
import { groupInWords, type Group } from '../../metrics/sample.ts';
import { subjectOf } from './failureTable.ts';
import {
  breakable,
  html,
  type Html,
  type HtmlValue,
  ago,
  counted,
  inWords,
  table,
  timeAgo,
  timeInWords,
  threeDigits,
  DOT,
} from './markup.ts';
import { accountNotices } from './notices.ts';

const INTERFACES: Readonly<Record<NonNullable<AccountStatus['api']>, string>> = {
  rest: 'REST API (v2)',
  nerdgraph: 'NerdGraph',
};

/** The section of one account, what is wrong first; `now` is Unix seconds, `docs` the address of the documentation. */
export function accountSection(account: AccountStatus, id: string, now: number, docs: string): Html {
  const labels = Object.entries(account.labels).map(
    ([name, value]) => html`<li><bdi>${name}</bdi>=<bdi>${value}</bdi></li>`,
  );
  const facts: readonly (readonly [string, HtmlValue])[] = [
    ['Interface', INTERFACES[account.api]],
    ['Applications', applicationsInWords(account)],
    ['Newest window served', windowInWords(account, now)],
    ['Calls in the last minute', budgetInWords(account.budget)],
    ['Steady state', planInWords(account.plan)],
  ];
  return html`<section class="account" id="${id}">
    <h2><span class="kind">Account</span> <bdi>${account.name}</bdi> ${stateBadge(account)}</h2>
    ${
      labels.length > 0
        ? html`<ul class="labels" aria-label="Labels">
            ${labels}
          </ul>`
        : undefined
    }
    ${accountNotices(account, now, docs)}
    <dl class="facts">
      ${facts.map(
        ([term, description]) =>
          html`<div>
            <dt>${term}</dt>
            <dd>${description}</dd>
          </div>`,
      )}
    </dl>
    ${groupTable(account.groups, now)} ${typeTable(account.entities, now)} ${queryTable(account.queries, now)}
    ${slowestTasks(account.tasks)}
  </section>`;
}

/** True if the account reads the data of a group. */
export function hasGroup({ groups }: Pick<AccountStatus, 'groups'>, wanted: Group): boolean {
  return groups.some(({ group }) => group === wanted);
}

function applicationsInWords(account: AccountStatus): string {
  const { applications, applicationCounts, outage } = account;
  if (!hasGroup(account, 'applications')) {
    const others = (['entities', 'queries'] as const).filter((other) => hasGroup(account, other));
    return others.length === 0 ? 'none' : `none: ${others.join(' and ')} only`;
  }
  if (applications === undefined) return outage === undefined ? 'not read yet' : 'never read';
  if (applicationCounts === undefined) return counted(applications.length, 'application');
  const { listed, exported, reporting } = applicationCounts;
  return `${exported} exported of ${listed} listed, ${reporting} of them report`;
}

function stateBadge({ refused, outage, up, budget, tasks, warnings }: AccountStatus): Html {
  if (refused !== undefined) return html`<span class="badge bad">refused</span>`;
  if (outage !== undefined) return html`<span class="badge bad">cannot be read</span>`;
  if (budget.pausedUntil !== undefined) return html`<span class="badge warn">paused</span>`;
  const failing = tasks.filter(({ problem }) => problem !== undefined).length;
  if (up && failing > 0) return html`<span class="badge warn">up, ${failing} failing</span>`;
  if (up && warnings.length > 0)
    return html`<span class="badge warn">up, ${counted(warnings.length, 'warning')}</span>`;
  return up ? html`<span class="badge good">up</span>` : html`<span class="badge warn">not read yet</span>`;
}

function windowInWords({ windowEnd, groups }: AccountStatus, now: number): string {
  if (windowEnd !== undefined) return `ends ${timeInWords(windowEnd)}, ${ago(windowEnd, now)}`;
  return groups.some(({ lastSuccess }) => lastSuccess !== undefined) ? 'none any more' : 'none yet';
}

function budgetInWords(budget: AccountStatus['budget']): Html {
  const { configured, inForce, inFlight, lastMinute } = budget;
  const used = Math.min(100, (100 * lastMinute) / Math.max(1, configured));
  const reduced = inForce < configured ? ` (${Math.floor(inForce)} in force now)` : '';
  return html`${lastMinute} of ${configured}${reduced}, ${inFlight} in flight
    <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="6" />
      <rect class="used" width="${used.toFixed(1)}" height="6" />
    </svg>`;
}

function planInWords({ callsPerMinute, budget, slowdown, concurrencyCapacity }: AccountStatus['plan']): string {
  const calls = `${threeDigits(callsPerMinute)} calls a minute`;
  if (slowdown <= 1) return calls;
  const isOverBudget = slowdown <= callsPerMinute / budget || concurrencyCapacity === undefined;
  const limit = isOverBudget
    ? `more than the ${threeDigits(budget)} of the budget`
    : `and calls at once carry ${Math.floor(concurrencyCapacity)}`;
  return `${calls}, ${limit}: every group gets slower`;
}

/** The groups of an account: their intervals, the result of the last refresh, and the age of their data. */
function groupTable(groups: readonly GroupStatus[], now: number): Html {
  return table(
    'Groups',
    ['Group', 'Interval', 'Last refresh', 'Last success', 'Fresh', 'Stale', 'Missing', 'Oldest window'],
    groups.map((group) => {
      const { fresh, stale, missing } = group.tasks;
      const windowEnd = GROUPS_WITH_WINDOWS.has(group.group) ? group.oldestWindowEnd : undefined;
      return [
        groupInWords(group.group),
        intervalInWords(group),
        refreshInWords(group),
        timeAgo(group.lastSuccess, now),
        { style: 'number', value: fresh },
        { style: stale > 0 ? 'number warn' : 'number', value: stale },
        { style: missing > 0 ? 'number bad' : 'number', value: missing },
        windowEnd === undefined ? '–' : ago(windowEnd, now),
      ];
    }),
  );
}

function intervalInWords({ intervalSeconds, effectiveIntervalSeconds }: GroupStatus): string {
  const configured = inWords(intervalSeconds);
  if (effectiveIntervalSeconds <= intervalSeconds) return configured;
  return `${configured}, in effect ${inWords(effectiveIntervalSeconds)}`;
}

function refreshInWords({ success, durationSeconds }: GroupStatus): Html {
  if (success === undefined) return html`not yet`;
  const took = durationSeconds === undefined ? '' : ` in ${inWords(durationSeconds)}`;
  return html`<span
    >${success ? html`<span class="good">OK</span>` : html`<span class="bad">failed</span>`}${took}</span
  >`;
}

/** The types of entities of an account, each with what was listed and left out, its golden metrics, and the age of its data. */
function typeTable(types: readonly TypeStatus[], now: number): Html | undefined {
  if (types.length === 0) return undefined;
  return table(
    'Entities',
    ['Type', 'Entities', 'Golden metrics', 'Series', 'Oldest value', 'List read', 'Last attempt'],
    types.map((each) => [
      html`<span class="group"><bdi>${each.type}</bdi></span>`,
      entitiesInWords(each),
      { style: 'long', value: goldenMetrics(each) },
      { style: 'number', value: each.series },
      each.oldestRead === undefined ? '–' : readAgo(each.oldestRead, each.windowEnd, now),
      timeAgo(each.lastSuccess, now),
      attemptInWords(each.success, each.problem ?? failingInWords(each)),
    ]),
  );
}

function entitiesInWords({ listed, exported, reporting, excluded, leftOut }: TypeStatus): string {
  if (listed === undefined) return 'not read yet';
  const number = (count: number): string => count.toLocaleString('en-US');
  return [
    `${number(exported)} exported of ${number(listed)} listed, ${number(reporting)} of them report`,
    ...(excluded === 0 ? [] : [`${number(excluded)} filtered out`]),
    ...(leftOut === 0 ? [] : [`${number(leftOut)} beyond max_entities`]),
  ].join('; ');
}

/** The number of golden metrics that are read; their names, and the problems of the other metrics, can be unfolded. */
function goldenMetrics({ metrics, metricProblems }: TypeStatus): Html {
  const problems = metricProblems.length;
  if (metrics.length + problems === 0) return html`none`;
  return html`<details>
    <summary>
      ${metrics.length}
      read${problems === 0 ? undefined : html`, <span class="warn">${counted(problems, 'problem')}</span>`}
    </summary>
    <ul>
      ${metrics.map((metric) => html`<li><bdi>${metric}</bdi></li>`)}
      ${metricProblems.map(
        ({ metric, problem }) => html`<li><bdi>${metric}</bdi>: <span class="warn">${breakable(problem)}</span></li>`,
      )}
    </ul>
  </details>`;
}

function failingInWords({ values, failing }: TypeStatus): string | undefined {
  if (failing === 0) return undefined;
  const read = values.fresh + values.stale + values.missing;
  return `golden metrics of ${failing} of ${counted(read, 'entity', 'entities')} failed`;
}

/** The queries of an account, each with its text, rows, series and last result. */
function queryTable(queries: readonly QueryStatus[], now: number): Html | undefined {
  if (queries.length === 0) return undefined;
  return table(
    'Queries',
    ['Query', 'Rows', 'Series', 'Last success', 'Last attempt'],
    queries.map(({ name, nrql, rows, series, lastSuccess, windowEnd, success, problem }) => [
      html`<details>
        <summary><bdi>${name}</bdi></summary>
        <code>${nrql}</code>
      </details>`,
      { style: 'number', value: rows ?? '–' },
      { style: 'number', value: series },
      readAgo(lastSuccess, windowEnd, now),
      attemptInWords(success, problem),
    ]),
  );
}

/** In seconds: a window that ends so long before it is read has a delay of its own, which is then shown. */
const LONG_DELAY = 600;

function readAgo(readAt: number | undefined, windowEnd: number | undefined, now: number): HtmlValue {
  const read = timeAgo(readAt, now);
  if (readAt === undefined || windowEnd === undefined || readAt - windowEnd < LONG_DELAY) return read;
  return html`${read}, of a window that ended ${timeAgo(windowEnd, now)}`;
}

function attemptInWords(success: boolean | undefined, problem: string | undefined): HtmlValue {
  if (problem !== undefined) return html`<span class="bad">${problem}</span>`;
  return success === undefined ? 'not yet' : html`<span class="good">OK</span>`;
}

const SHOWN_SLOWEST = 5;

/** The tasks with the longest last attempt. Tasks of a group that took equally long share a row, because one call reads many. */
function slowestTasks(tasks: readonly TaskStatus[]): Html | undefined {
  let slowest: { readonly task: TaskStatus; readonly seconds: number; together: number }[] = [];
  for (const task of tasks) {
    const { group, seconds } = task;
    if (seconds === undefined) continue;
    const same = slowest.find((row) => row.seconds === seconds && row.task.group === group);
    if (same !== undefined) same.together += 1;
    // A row that falls out cannot return, so only the rows that are shown are kept.
    else if (slowest.length < SHOWN_SLOWEST || seconds > (slowest.at(-1)?.seconds ?? 0)) {
      const rows = [...slowest, { task, seconds, together: 1 }];
      slowest = rows.sort((a, b) => b.seconds - a.seconds).slice(0, SHOWN_SLOWEST);
    }
  }
  if (slowest.length === 0) return undefined;
  return table(
    'Slowest to read',
    ['What', 'Last attempt took'],
    slowest.map(({ task, seconds, together }) => [
      [nameOf(task), together > 1 ? ` and ${together - 1} more, each as long` : undefined],
      inWords(seconds),
    ]),
  );
}

function nameOf(task: TaskStatus): Html {
  const subject = subjectOf(task);
  return html`<span class="group">${task.group}</span>${subject === undefined ? undefined : html`${DOT}${subject}`}`;
}

import type { AccountStatus, GroupStatus, QueryStatus, TaskStatus, TypeStatus } from '../../collect/accountStatus.ts';
import { firstOf, groupInWords, type Group } from '../../reads/reads.ts';
import type { AddressOf, Query } from './applicationsSection.ts';
import { subjectOf } from './failureTable.ts';
import {
  breakable,
  html,
  type Html,
  type HtmlValue,
  ago,
  counted,
  CROSS,
  fold,
  inWords,
  table,
  timeAgo,
  timeInWords,
  threeDigits,
  DOT,
  TICK,
} from './markup.ts';
import { accountNotices } from './notices.ts';
import { isUnread, type ShownAccount } from './shownAccounts.ts';
import type { SlowRead } from './slowest.ts';
import { worstFailure } from './verdict.ts';

const INTERFACES: Readonly<Record<NonNullable<AccountStatus['api']>, string>> = {
  rest: 'REST API (v2)',
  nerdgraph: 'NerdGraph',
};

/** Accounts that are shown at a glance, others being folded away, and with all that the exporter does for them. */
const MANY = 12;
const WHOLE = 10;

/** How an account is, with a sign; lower ranks are worse. */
interface AccountState {
  readonly rank: number;
  readonly style: 'bad' | 'warn' | 'soft' | 'good';
  readonly sign: string;
  readonly words: string;
}

function stateOf(account: ShownAccount): AccountState {
  const { failing, tasks, budget, warnings, up } = account;
  if (isUnread(account)) return { rank: 0, style: 'bad', sign: CROSS, words: 'cannot be read' };
  if (failing > 0)
    return { rank: 1, style: 'bad', sign: CROSS, words: `${failing} of ${counted(tasks.length, 'read')} failing` };
  if (budget.pausedUntil !== undefined) return { rank: 2, style: 'warn', sign: '!', words: 'paused' };
  if (warnings.length > 0) return { rank: 3, style: 'warn', sign: '!', words: counted(warnings.length, 'warning') };
  if (!up) return { rank: 4, style: 'soft', sign: '?', words: 'not read yet' };
  return { rank: 5, style: 'good', sign: TICK, words: 'read' };
}

/** Accounts, the worst first; otherwise in the order of the configuration. */
function worstFirst(accounts: readonly ShownAccount[]) {
  return accounts.map((account) => ({ account, state: stateOf(account) })).sort((a, b) => a.state.rank - b.state.rank);
}

/** The account of this name, else the accounts with the text in their names, else all. */
function foundIn(accounts: readonly ShownAccount[], search: string): readonly ShownAccount[] {
  const text = search.trim().toLowerCase();
  const named = accounts.filter(({ name }) => name === search);
  const found = named.length > 0 ? named : accounts.filter(({ name }) => name.toLowerCase().includes(text));
  return found.length === 0 ? accounts : found;
}

/** The accounts at a glance where there are several: a line for each that fails, and a chip for each other one. */
export function accountChips(accounts: readonly ShownAccount[], query: Query, addressOf: AddressOf): Html | undefined {
  if (accounts.length < 2) return undefined;
  const stated = worstFirst(foundIn(accounts, query.search));
  const link = (name: string) => html`<a href="${addressOf({ search: name, page: 1 })}"><bdi>${name}</bdi></a>`;
  const failing = stated.filter(({ state }) => state.style === 'bad');
  const lines = failing.map(
    ({ account, state: { sign, words } }) =>
      html`<li>${sign} ${link(account.name)} ${words}: ${breakable(worstFailure([account]))}</li>`,
  );
  const others = stated.filter(({ state }) => state.style !== 'bad');
  const chips = html`<ul class="chips">
    ${others.map(
      ({ account: { name }, state: { style, sign, words } }) =>
        html`<li class="chip">
          <span class="${style}">${sign}</span> ${link(name)}
          ${style === 'good' ? undefined : html`<span class="${style}">${words}</span>`}
        </li>`,
    )}
  </ul>`;
  const list = (some: readonly Html[]) =>
    some.length === 0
      ? undefined
      : html`<ul class="notice bad">
          ${some}
        </ul>`;
  const rest = lines.length - MANY;
  return html`<div role="group" aria-label="Accounts">
    ${list(lines.slice(0, MANY))}
    ${rest > 0 ? fold(`${counted(rest, 'account')} more with failures`, list(lines.slice(MANY)), false) : undefined}
    ${others.length > MANY ? fold(`${counted(others.length, 'account')} without failures`, chips, false) : chips}
  </div>`;
}

/** What the exporter does: its accounts, the worst first, each folded unless something in it fails. */
export function* accountSections(
  accounts: readonly ShownAccount[],
  search: string,
  now: number,
  docs: string,
): Generator<Html> {
  const shown = worstFirst(foundIn(accounts, search));
  const rest = shown.length - WHOLE;
  yield html`<h2 id="exporter">What the exporter does</h2>`;
  for (const { account, state } of shown.slice(0, WHOLE)) yield accountDetails(account, state, now, docs);
  if (rest > 0) yield html`<p class="more">and ${counted(rest, 'account')} more: find one by its name.</p>`;
}

/** The details of one account, what is wrong first; `now` is Unix seconds, `docs` the address of the documentation. */
function accountDetails(account: ShownAccount, state: AccountState, now: number, docs: string): Html {
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
  const { budget, groups, queries, entities } = account;
  const summary = html`<bdi>${account.name}</bdi> <span class="${state.style}">${state.sign} ${state.words}</span>
    <small
      >${counted(account.tasks.length, 'read')}${freshness(account.states)}; ${budget.lastMinute} of
      ${budget.configured} calls in the last minute</small
    >`;
  const content = html`${
      labels.length > 0
        ? html`<ul class="chips" aria-label="Labels">
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
    ${fold(
      `${counted(groups.length, 'group')}${failingOf(groups)}`,
      groupTable(groups, now),
      groups.some(({ success }) => success === false),
    )}
    ${
      entities.length === 0
        ? undefined
        : fold(
            `${counted(entities.length, 'type')} of entities${failingOf(entities)}`,
            typeTable(entities, now),
            entities.some(
              ({ success, failing, metricProblems }) => success === false || failing + metricProblems.length > 0,
            ),
          )
    }
    ${
      queries.length === 0
        ? undefined
        : fold(
            `${counted(queries.length, 'query', 'queries')}${freshness(countedStates(queries))}${failingOf(queries)}`,
            queryTable(queries, now),
            queries.some(({ success }) => success === false),
          )
    }
    ${slowestReads(account.slowest)}`;
  return html`<section>${fold(summary, content, state.style === 'bad' || state.style === 'warn')}</section>`;
}

/** `, all fresh`, or `, 12 fresh, 3 stale, 1 missing`; empty for none. */
function freshness(states: ShownAccount['states']): string {
  const present = (['fresh', 'stale', 'missing'] as const).filter((state) => states[state] > 0);
  if (present.length === 1) return `, all ${present.join('')}`;
  return present.map((state) => `, ${states[state].toLocaleString('en-US')} ${state}`).join('');
}

function countedStates(all: readonly Pick<TaskStatus, 'state'>[]): ShownAccount['states'] {
  const states = { fresh: 0, stale: 0, missing: 0 };
  for (const { state } of all) states[state] += 1;
  return states;
}

function failingOf(all: readonly { readonly success: boolean | undefined }[]): string {
  const failing = all.filter(({ success }) => success === false).length;
  return failing === 0 ? '' : `, ${failing} failing`;
}

function applicationsInWords({ applications, applicationCounts, outage, groups }: ShownAccount): string {
  const has = (wanted: Group) => groups.some(({ group }) => group === wanted);
  if (!has('applications')) {
    const others = (['entities', 'queries'] as const).filter(has);
    return others.length === 0 ? 'none' : `none: ${others.join(' and ')} only`;
  }
  if (applications === undefined) return outage === undefined ? 'not read yet' : 'never read';
  if (applicationCounts === undefined) return counted(applications.length, 'application');
  const { listed, exported, reporting } = applicationCounts;
  return `${exported} exported of ${listed} listed, ${reporting} of them report`;
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
      const windowEnd = firstOf(group.group).gives === 'window' ? group.oldestWindowEnd : undefined;
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
function typeTable(types: readonly TypeStatus[], now: number): Html {
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
function queryTable(queries: readonly QueryStatus[], now: number): Html {
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

/** The reads whose last attempt took longest. */
function slowestReads(slowest: readonly SlowRead[]): Html | undefined {
  const [first] = slowest;
  if (first === undefined) return undefined;
  const content = table(
    'Slowest to read',
    ['What', 'Last attempt took'],
    slowest.map(({ task, seconds, together }) => [
      [nameOf(task), together > 1 ? ` and ${together - 1} more, each as long` : undefined],
      inWords(seconds),
    ]),
  );
  return fold(`Slowest read: ${inWords(first.seconds)}`, content, false);
}

function nameOf(task: TaskStatus): Html {
  const subject = subjectOf(task);
  return html`<span class="group">${task.group}</span>${subject === undefined ? undefined : html`${DOT}${subject}`}`;
}

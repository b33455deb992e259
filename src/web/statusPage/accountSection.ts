import type { AccountStatus, GroupStatus, QueryStatus, TypeStatus } from '../../collect/accountStatus.ts';
import { describeEnd } from '../../config/config.ts';
import { FIRST_OF, groupInWords, type Group } from '../../reads/reads.ts';
import { ago, counted, withCommas, durationInWords, threeDigits, timeInWords } from '../../text/wording.ts';
import { addressOf, type Query } from './applicationsSection.ts';
import { bar, breakable, CROSS, DOT, facts, fold, html, isolate, join, list, NONE } from './markup.ts';
import { table, TICK, timeAgo, type Html, type HtmlValue } from './markup.ts';
import { nameTask } from './problemSection.ts';
import { isUnread, type ShownAccount, type States } from './shownAccounts.ts';

const INTERFACES = { rest: 'REST API (v2)', nerdgraph: 'NerdGraph' };

/** Limits for the accounts that are named at the top, and for the accounts with all details. */
const CHIPS = 12;
const WHOLE = 10;
/** In seconds: a window that ends so long before it is read has a delay of its own, which is then shown. */
const LONG_DELAY = 600;
/** Seconds before the end of an interface from which its notice is highlighted. */
const NEAR_END = 180 * 86_400;

/** Judges how an account is, with a sign; lower ranks are worse. */
function judgeAccount(account: ShownAccount) {
  const { failing, tasks, budget, warnings, up, states } = account;
  const is = (rank: number, style: 'bad' | 'warn' | 'soft' | 'good', sign: string, words: string) => {
    return { account, rank, style, sign, words };
  };
  if (isUnread(account)) return is(0, 'bad', CROSS, 'cannot be read');
  if (failing > 0) return is(1, 'bad', CROSS, `${failing} of ${counted(tasks.length, 'read')} failing`);
  if (budget.pausedUntil !== undefined) return is(2, 'warn', '!', 'paused');
  if (warnings.length > 0) return is(3, 'warn', '!', counted(warnings.length, 'warning'));
  if (!up) return is(4, 'soft', '?', 'not read yet');
  if (states.missing > 0 && states.missing === tasks.length) return is(4, 'soft', '?', 'nothing served now');
  return is(5, 'good', TICK, 'read');
}

/** Sorts the worst first; otherwise keeps the order of the configuration. */
const sortAccounts = (accounts: readonly ShownAccount[]) => accounts.map(judgeAccount).sort((a, b) => a.rank - b.rank);

/** Returns a chip for each of several accounts, except those that fail: the problems name them. */
export function accountChips(accounts: readonly ShownAccount[], query: Query): Html | undefined {
  if (accounts.length < 2) return undefined;
  const others = sortAccounts(accounts).filter(({ style }) => style !== 'bad');
  const chips = others.map(({ account: { name }, style, sign, words }) => {
    const link = html`<a href="${addressOf(query, { search: name, page: 1 })}">${isolate(name)}</a>`;
    const note = style === 'good' ? undefined : html` <span class="${style}">${words}</span>`;
    return html`<span class="${style}">${sign}</span> ${link}${note}`;
  });
  const all = list('chips', chips);
  const summary = `${counted(others.length, 'account')} without failures`;
  return html`<div role="group" aria-label="Accounts">
    ${others.length > CHIPS ? fold(summary, all, query.isOpen) : all}
  </div>`;
}

/** Yields what the exporter does for its accounts, the worst first, each folded unless something in it fails. */
export function* accountSections(accounts: readonly ShownAccount[], query: Query, now: number): Generator<Html> {
  const text = query.search.trim().toLowerCase();
  const named = accounts.filter(({ name }) => name === query.search);
  const similar = named.length > 0 ? named : accounts.filter(({ name }) => name.toLowerCase().includes(text));
  const shown = sortAccounts(similar.length > 0 ? similar : accounts);
  const { isOpen } = query;
  const link = html`<a href="${addressOf(query, { isOpen: !isOpen })}#exporter">${isOpen ? 'Fold' : 'Open all'}</a>`;
  yield html`<h2 id="exporter">What the exporter does <small>${link}</small></h2>`;
  for (const judged of shown.slice(0, WHOLE)) yield accountDetails(judged, isOpen, now);
  const rest = shown.length - WHOLE;
  if (rest > 0) yield html`<p class="more">and ${counted(rest, 'account')} more: find one by its name.</p>`;
}

function accountDetails(
  { account, style, sign, words }: ReturnType<typeof judgeAccount>,
  isOpen: boolean,
  now: number,
): Html {
  const { budget, accountId, entry, states, tasks, labels, warnings } = account;
  const reads = `${counted(tasks.length, 'read')}${describeStates(states)}`;
  const summary = html`${isolate(account.name)} <span class="${style}">${sign} ${words}</span>
    <small>${reads}; ${budget.lastMinute} of ${budget.configured} calls in the last minute</small>`;
  const content = [
    list(
      'chips',
      Object.entries(labels).map(([name, value]) => html`${isolate(name)}=${isolate(value)}`),
    ),
    list('notice warn', warnings),
    endNotice(account, now),
    facts('facts', [
      [
        'Interface',
        [
          INTERFACES[account.api],
          accountId === undefined ? undefined : `, account ${accountId}`,
          entry === undefined ? undefined : [' of ', isolate(entry)],
        ],
      ],
      ['Applications', describeApplications(account)],
      ['Newest window served', describeWindow(account, now)],
      ['Calls in the last minute', describeBudget(budget)],
      ['Steady state', describePlan(account.plan)],
    ]),
    groupTable(account, isOpen, now),
    typeTable(account.entities, isOpen, now),
    queryTable(account.queries, isOpen, now),
    slowestReads(account.slowest, isOpen),
  ];
  return html`<section>${fold(summary, content, isOpen || style === 'warn')}</section>`;
}

function endNotice({ endOfLife }: AccountStatus, now: number): Html | undefined {
  if (endOfLife === undefined) return undefined;
  const style = endOfLife < now ? 'notice bad' : endOfLife - now < NEAR_END ? 'notice warn' : 'soft';
  return html`<p class="${style}">The account is read through ${describeEnd(endOfLife, now)}.</p>`;
}

/** Returns `, all fresh`, or `, 12 fresh, 3 due with the next scrape, 1 missing`; empty for none. */
function describeStates({ fresh, stale, missing, late }: States): string {
  const counts = [
    [fresh, 'fresh'],
    [stale - late, 'due with the next scrape'],
    [late, 'stale'],
    [missing, 'missing'],
  ] as const;
  const present = counts.filter(([count]) => count > 0);
  if (present.length === 1) return `, all ${present[0]?.[1] ?? ''}`;
  return present.map(([count, state]) => `, ${withCommas(count)} ${state}`).join('');
}

function describeApplications({ applications, applicationCounts, outage, groups }: ShownAccount): string {
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

function describeWindow({ windowEnd, groups }: AccountStatus, now: number): string {
  if (windowEnd !== undefined) return `ends ${timeInWords(windowEnd)}, ${ago(windowEnd, now)}`;
  return groups.some(({ lastSuccess }) => lastSuccess !== undefined) ? 'none now' : 'none yet';
}

function describeBudget({ configured, inForce, inFlight, lastMinute }: AccountStatus['budget']): Html {
  const length = Math.min(1000, (1000 * lastMinute) / Math.max(1, configured));
  const reduced = inForce < configured ? ` (${Math.floor(inForce)} in force now)` : '';
  const used = bar(undefined, [{ paint: html`class="used"`, from: 0, length }]);
  return html`${lastMinute} of ${configured}${reduced}, ${inFlight} in flight ${used}`;
}

function describePlan({ callsPerMinute, budget, slowdown, concurrencyCapacity }: AccountStatus['plan']): string {
  const calls = `${threeDigits(callsPerMinute)} calls a minute`;
  if (slowdown <= 1) return calls;
  const isOverBudget = slowdown <= callsPerMinute / budget || concurrencyCapacity === undefined;
  const limit = isOverBudget
    ? `more than the ${threeDigits(budget)} of the budget`
    : `more than the ${Math.floor(concurrencyCapacity)} that the concurrent calls carry`;
  return `${calls}, ${limit}: every group is refreshed less often`;
}

function groupTable({ groups, lateByGroup }: ShownAccount, isOpen: boolean, now: number): Html | undefined {
  const headings = ['Group', 'Interval', 'Last refresh', 'Last success', 'Fresh', 'Due', 'Stale', 'Missing'];
  const rows = groups.map((group) => {
    const { fresh, stale, missing } = group.tasks;
    const late = Math.min(stale, lateByGroup.get(group.group) ?? 0);
    const windowEnd = FIRST_OF[group.group].gives === 'window' ? group.oldestWindowEnd : undefined;
    return [
      groupInWords(group.group),
      describeInterval(group),
      describeAttempt(group.success, undefined, group.durationSeconds),
      timeAgo(group.lastSuccess, now),
      { style: 'number', value: fresh },
      { style: 'number', value: stale - late },
      { style: late > 0 ? 'number warn' : 'number', value: late },
      { style: missing > 0 ? 'number bad' : 'number', value: missing },
      windowEnd === undefined ? NONE : ago(windowEnd, now),
    ] as const;
  });
  return foldTable(counted(groups.length, 'group'), countFailing(groups), isOpen, [...headings, 'Oldest window'], rows);
}

function describeInterval({ intervalSeconds, effectiveIntervalSeconds }: GroupStatus): string {
  const configured = durationInWords(intervalSeconds);
  if (effectiveIntervalSeconds <= intervalSeconds) return configured;
  return `${configured}, in effect ${durationInWords(effectiveIntervalSeconds)}`;
}

function describeAttempt(success: boolean | undefined, problem = 'failed', seconds?: number): HtmlValue {
  if (success === undefined) return 'not yet';
  const result = html`<span class="${success ? 'good' : 'bad'}">${success ? 'OK' : breakable(problem)}</span>`;
  return seconds === undefined ? result : html`<span>${result} in ${durationInWords(seconds)}</span>`;
}

function typeTable(types: readonly TypeStatus[], isOpen: boolean, now: number): Html | undefined {
  const failing = types.filter((each) => each.success === false || each.failing + each.metricProblems.length > 0);
  const rows = types.map((each) => {
    const { fresh, stale, missing } = each.values;
    const read = counted(fresh + stale + missing, 'entity', 'entities');
    const failed = each.failing === 0 ? undefined : `golden metrics of ${each.failing} of ${read} failed`;
    const problem = each.problem ?? failed;
    return [
      html`<span class="group">${isolate(each.type)}</span>`,
      describeEntities(each),
      { style: 'long', value: goldenMetrics(each) },
      { style: 'number', value: each.series },
      each.oldestRead === undefined ? NONE : describeAge(each.oldestRead, each.windowEnd, now),
      timeAgo(each.lastSuccess, now),
      describeAttempt(problem === undefined ? each.success : false, problem),
    ] as const;
  });
  const headings = ['Type', 'Entities', 'Golden metrics', 'Series', 'Oldest value', 'List read', 'Last attempt'];
  return foldTable(`${counted(types.length, 'type')} of entities`, failing.length, isOpen, headings, rows);
}

function describeEntities({ listed, exported, reporting, excluded, leftOut }: TypeStatus): string {
  if (listed === undefined) return 'not read yet';
  return [
    `${withCommas(exported)} exported of ${withCommas(listed)} listed, ${withCommas(reporting)} of them report`,
    ...(excluded === 0 ? [] : [`${withCommas(excluded)} filtered out`]),
    ...(leftOut === 0 ? [] : [`${withCommas(leftOut)} beyond max_entities`]),
  ].join('; ');
}

function goldenMetrics({ metrics, metricProblems }: TypeStatus): HtmlValue {
  if (metrics.length + metricProblems.length === 0) return 'none';
  const problems = metricProblems.map(({ metric, problem }) => {
    return html`${isolate(metric)}: <span class="warn">${breakable(problem)}</span>`;
  });
  return [`${metrics.length} read: `, join(metrics.map(isolate), ', '), list('', problems)];
}

function queryTable(queries: readonly QueryStatus[], isOpen: boolean, now: number): Html | undefined {
  const rows = queries.map(({ name, nrql, rows: count, series, lastSuccess, windowEnd, success, problem }) => {
    const cells = [
      { style: 'number', value: count ?? NONE },
      { style: 'number', value: series },
      describeAge(lastSuccess, windowEnd, now),
      describeAttempt(success, problem),
    ];
    return [html`${isolate(name)} <small><code>${nrql}</code></small>`, ...cells] as const;
  });
  const headings = ['Query', 'Rows', 'Series', 'Last success', 'Last attempt'];
  return foldTable(counted(queries.length, 'query', 'queries'), countFailing(queries), isOpen, headings, rows);
}

function describeAge(readAt: number | undefined, windowEnd: number | undefined, now: number): HtmlValue {
  const read = timeAgo(readAt, now);
  if (readAt === undefined || windowEnd === undefined || readAt - windowEnd < LONG_DELAY) return read;
  return html`${read}, of a window that ended ${timeAgo(windowEnd, now)}`;
}

function slowestReads(slowest: ShownAccount['slowest'], isOpen: boolean): Html | undefined {
  const rows = slowest.map(({ task, seconds, together }) => {
    const name = nameTask(task);
    const more = together > 1 ? ` and ${together - 1} more, each as long` : undefined;
    const subject = [html`<span class="group">${task.group}</span>`, name && [DOT, name], more];
    return [subject, durationInWords(seconds)] as const;
  });
  const summary = `Slowest read: ${durationInWords(slowest[0]?.seconds ?? 0)}`;
  return foldTable(summary, 0, isOpen, ['What', 'Last attempt took'], rows);
}

/** Returns a table behind its summary, open if something in it fails; undefined without rows. */
function foldTable(
  summary: string,
  failing: number,
  isOpen: boolean,
  ...[headings, rows]: [Parameters<typeof table>[1], Parameters<typeof table>[2]]
): Html | undefined {
  if (rows.length === 0) return undefined;
  const words = failing === 0 ? summary : `${summary}, ${failing} failing`;
  return fold(words, table(undefined, headings, rows), isOpen || failing > 0);
}

function countFailing(all: readonly { readonly success: boolean | undefined }[]): number {
  return all.filter(({ success }) => success === false).length;
}

import type { AccountStatus, GroupStatus, QueryStatus, TypeStatus } from '../../collect/accountStatus.ts';
import { FIRST_OF, groupInWords, type Group } from '../../reads/reads.ts';
import { ago, counted, withCommas, durationInWords, threeDigits, timeInWords } from '../../text/wording.ts';
import { addressOf, type Query } from './applicationsSection.ts';
import { subjectOf } from './failureTable.ts';
import {
  bar,
  breakable,
  CROSS,
  DOT,
  facts,
  fold,
  html,
  joined,
  list,
  table,
  TICK,
  timeAgo,
  type Html,
  type HtmlValue,
} from './markup.ts';
import { accountNotices } from './notices.ts';
import { isUnread, type ShownAccount } from './shownAccounts.ts';
import { worstFailure } from './verdict.ts';

const INTERFACES: Readonly<Record<NonNullable<AccountStatus['api']>, string>> = {
  rest: 'REST API (v2)',
  nerdgraph: 'NerdGraph',
};

/** Limits for the reasons at the top of the page, for the accounts that are named at each, and for the other accounts there. */
const REASONS = 12;
const NAMED = 10;
const CHIPS = 12;
/** Limit for the accounts with all that the exporter does for them. */
const WHOLE = 10;

/** How an account is, with a sign; lower ranks are worse. */
function stateOf(account: ShownAccount) {
  const { failing, tasks, budget, warnings, up, states } = account;
  const state = (rank: number, style: 'bad' | 'warn' | 'soft' | 'good', sign: string, words: string) => {
    return { account, rank, style, sign, words };
  };
  if (isUnread(account)) return state(0, 'bad', CROSS, 'cannot be read');
  if (failing > 0) return state(1, 'bad', CROSS, `${failing} of ${counted(tasks.length, 'read')} failing`);
  if (budget.pausedUntil !== undefined) return state(2, 'warn', '!', 'paused');
  if (warnings.length > 0) return state(3, 'warn', '!', counted(warnings.length, 'warning'));
  if (!up) return state(4, 'soft', '?', 'not read yet');
  if (states.missing > 0 && states.missing === tasks.length) return state(4, 'soft', '?', 'nothing served now');
  return state(5, 'good', TICK, 'read');
}

/** Accounts, the worst first; otherwise in the order of the configuration. */
const worstFirst = (accounts: readonly ShownAccount[]) => accounts.map(stateOf).sort((a, b) => a.rank - b.rank);

/** Of several accounts which ones fail, and why where the verdict does not say it already; and a chip for each other one. */
export function accountChips(accounts: readonly ShownAccount[], verdict: string, query: Query): Html | undefined {
  if (accounts.length < 2) return undefined;
  const stated = worstFirst(accounts);
  const alike = new Map<string, ShownAccount[]>();
  for (const { account, words } of stated.filter(({ style }) => style === 'bad')) {
    const why = worstFailure([account]);
    const said = verdict.includes(why) ? words : `${words}: ${why}`;
    alike.set(said, [...(alike.get(said) ?? []), account]);
  }
  const lines = Array.from(alike, ([said, of]) => {
    const names = joined(
      of.slice(0, NAMED).map((account) => linkTo(account, query)),
      ', ',
    );
    const more = of.length > NAMED ? ` and ${of.length - NAMED} more` : undefined;
    return html`${CROSS} ${names}${more} ${breakable(said)}`;
  });
  const rest = lines.length - REASONS;
  const others = stated.filter(({ style }) => style !== 'bad');
  const chips = list(
    'chips',
    others.map(({ account, style, sign, words }) => {
      const said = style === 'good' ? undefined : html` <span class="${style}">${words}</span>`;
      return html`<span class="${style}">${sign}</span> ${linkTo(account, query)}${said}`;
    }),
  );
  const sum = `${counted(others.length, 'account')} without failures`;
  return html`<div role="group" aria-label="Accounts">
    ${list('notice bad', [
      ...lines.slice(0, REASONS),
      ...(rest > 0 ? [html`and <a href="#exporter">${counted(rest, 'other reason')}</a>`] : []),
    ])}
    ${others.length > CHIPS ? fold(sum, chips, query.isOpen) : chips}
  </div>`;
}

function linkTo({ name }: ShownAccount, query: Query): Html {
  return html`<a href="${addressOf(query, { search: name, page: 1 })}"><bdi>${name}</bdi></a>`;
}

/** What the exporter does: its accounts, the worst first, each folded unless something in it fails. */
export function* accountSections(
  accounts: readonly ShownAccount[],
  query: Query,
  now: number,
  docs: string,
): Generator<Html> {
  const search = query.search.trim().toLowerCase();
  const named = accounts.filter(({ name }) => name === query.search);
  const similar = named.length > 0 ? named : accounts.filter(({ name }) => name.toLowerCase().includes(search));
  const shown = worstFirst(similar.length > 0 ? similar : accounts);
  const { isOpen } = query;
  yield html`<h2 id="exporter">
    What the exporter does
    <small><a href="${addressOf(query, { isOpen: !isOpen })}#exporter">${isOpen ? 'Fold' : 'Open all'}</a></small>
  </h2>`;
  for (const stated of shown.slice(0, WHOLE)) yield accountDetails(stated, isOpen, now, docs);
  const rest = shown.length - WHOLE;
  if (rest > 0) yield html`<p class="more">and ${counted(rest, 'account')} more: find one by its name.</p>`;
}

/** The details of one account, what is wrong first; `now` is Unix seconds, `docs` the address of the documentation. */
function accountDetails(
  { account, style, sign, words }: ReturnType<typeof stateOf>,
  isOpen: boolean,
  now: number,
  docs: string,
): Html {
  const { budget, groups, queries, entities, accountId, entry } = account;
  const interfaceInWords = [
    INTERFACES[account.api],
    accountId === undefined ? undefined : `, account ${accountId}`,
    entry === undefined ? undefined : html` of <bdi>${entry}</bdi>`,
  ];
  const sum = html`<bdi>${account.name}</bdi> <span class="${style}">${sign} ${words}</span>
    <small
      >${counted(account.tasks.length, 'read')}${freshness(account.states)}; ${budget.lastMinute} of
      ${budget.configured} calls in the last minute</small
    >`;
  const content = [
    list(
      'chips',
      Object.entries(account.labels).map(([name, value]) => html`<bdi>${name}</bdi>=<bdi>${value}</bdi>`),
    ),
    accountNotices(account, now, docs),
    facts('facts', [
      ['Interface', interfaceInWords],
      ['Applications', applicationsInWords(account)],
      ['Newest window served', windowInWords(account, now)],
      ['Calls in the last minute', budgetInWords(budget)],
      ['Steady state', planInWords(account.plan)],
    ]),
    groupTable(groups, isOpen, now),
    typeTable(entities, isOpen, now),
    queryTable(queries, isOpen, now),
    slowestReads(account.slowest, isOpen),
  ];
  return html`<section>${fold(sum, content, isOpen || style === 'bad' || style === 'warn')}</section>`;
}

/** `, all fresh`, or `, 12 fresh, 3 stale, 1 missing`; empty for none. */
function freshness(states: ShownAccount['states']): string {
  const present = (['fresh', 'stale', 'missing'] as const).filter((state) => states[state] > 0);
  if (present.length === 1) return `, all ${present.join('')}`;
  return present.map((state) => `, ${withCommas(states[state])} ${state}`).join('');
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
  return groups.some(({ lastSuccess }) => lastSuccess !== undefined) ? 'none now' : 'none yet';
}

function budgetInWords({ configured, inForce, inFlight, lastMinute }: AccountStatus['budget']): Html {
  const length = Math.min(1000, (1000 * lastMinute) / Math.max(1, configured));
  const reduced = inForce < configured ? ` (${Math.floor(inForce)} in force now)` : '';
  return html`${lastMinute} of ${configured}${reduced}, ${inFlight} in flight
  ${bar(undefined, [{ paint: html`class="used"`, from: 0, length }])}`;
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

function groupTable(groups: readonly GroupStatus[], isOpen: boolean, now: number): Html | undefined {
  return foldedTable(
    counted(groups.length, 'group'),
    failingOf(groups),
    isOpen,
    ['Group', 'Interval', 'Last refresh', 'Last success', 'Fresh', 'Stale', 'Missing', 'Oldest window'],
    groups.map((group) => {
      const { fresh, stale, missing } = group.tasks;
      const windowEnd = FIRST_OF[group.group].gives === 'window' ? group.oldestWindowEnd : undefined;
      return [
        groupInWords(group.group),
        intervalInWords(group),
        attemptInWords(group.success, undefined, group.durationSeconds),
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
  const configured = durationInWords(intervalSeconds);
  if (effectiveIntervalSeconds <= intervalSeconds) return configured;
  return `${configured}, in effect ${durationInWords(effectiveIntervalSeconds)}`;
}

function attemptInWords(success: boolean | undefined, problem = 'failed', seconds?: number): HtmlValue {
  if (success === undefined) return 'not yet';
  const took = seconds === undefined ? undefined : ` in ${durationInWords(seconds)}`;
  return html`<span><span class="${success ? 'good' : 'bad'}">${success ? 'OK' : problem}</span>${took}</span>`;
}

function typeTable(types: readonly TypeStatus[], isOpen: boolean, now: number): Html | undefined {
  const failing = types.filter((each) => each.success === false || each.failing + each.metricProblems.length > 0);
  return foldedTable(
    `${counted(types.length, 'type')} of entities`,
    failing.length,
    isOpen,
    ['Type', 'Entities', 'Golden metrics', 'Series', 'Oldest value', 'List read', 'Last attempt'],
    types.map((each) => {
      const problem = each.problem ?? failingInWords(each);
      return [
        html`<span class="group"><bdi>${each.type}</bdi></span>`,
        entitiesInWords(each),
        { style: 'long', value: goldenMetrics(each) },
        { style: 'number', value: each.series },
        each.oldestRead === undefined ? '–' : readAgo(each.oldestRead, each.windowEnd, now),
        timeAgo(each.lastSuccess, now),
        attemptInWords(problem === undefined ? each.success : false, problem),
      ];
    }),
  );
}

function entitiesInWords({ listed, exported, reporting, excluded, leftOut }: TypeStatus): string {
  if (listed === undefined) return 'not read yet';
  return [
    `${withCommas(exported)} exported of ${withCommas(listed)} listed, ${withCommas(reporting)} of them report`,
    ...(excluded === 0 ? [] : [`${withCommas(excluded)} filtered out`]),
    ...(leftOut === 0 ? [] : [`${withCommas(leftOut)} beyond max_entities`]),
  ].join('; ');
}

function goldenMetrics({ metrics, metricProblems }: TypeStatus): Html {
  if (metrics.length + metricProblems.length === 0) return html`none`;
  const names = joined(
    metrics.map((metric) => html`<bdi>${metric}</bdi>`),
    ', ',
  );
  return html`${metrics.length} read: ${names}
  ${list(
    '',
    metricProblems.map(
      ({ metric, problem }) => html`<bdi>${metric}</bdi>: <span class="warn">${breakable(problem)}</span>`,
    ),
  )}`;
}

function failingInWords({ values, failing }: TypeStatus): string | undefined {
  if (failing === 0) return undefined;
  const read = values.fresh + values.stale + values.missing;
  return `golden metrics of ${failing} of ${counted(read, 'entity', 'entities')} failed`;
}

function queryTable(queries: readonly QueryStatus[], isOpen: boolean, now: number): Html | undefined {
  const states = { fresh: 0, stale: 0, missing: 0 };
  for (const { state } of queries) states[state] += 1;
  return foldedTable(
    `${counted(queries.length, 'query', 'queries')}${freshness(states)}`,
    failingOf(queries),
    isOpen,
    ['Query', 'Rows', 'Series', 'Last success', 'Last attempt'],
    queries.map(({ name, nrql, rows, series, lastSuccess, windowEnd, success, problem }) => [
      html`<bdi>${name}</bdi> <small><code>${nrql}</code></small>`,
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

function slowestReads(slowest: ShownAccount['slowest'], isOpen: boolean): Html | undefined {
  const [first] = slowest;
  return foldedTable(
    `Slowest read: ${durationInWords(first?.seconds ?? 0)}`,
    0,
    isOpen,
    ['What', 'Last attempt took'],
    slowest.map(({ task, seconds, together }) => {
      const subject = subjectOf(task);
      return [
        [
          html`<span class="group">${task.group}</span>`,
          subject === undefined ? undefined : [DOT, subject],
          together > 1 ? ` and ${together - 1} more, each as long` : undefined,
        ],
        durationInWords(seconds),
      ];
    }),
  );
}

/** A table behind its sum, open where something in it fails; undefined without rows. */
function foldedTable(
  sum: string,
  failing: number,
  isOpen: boolean,
  ...[headings, rows]: [Parameters<typeof table>[1], Parameters<typeof table>[2]]
): Html | undefined {
  if (rows.length === 0) return undefined;
  const said = failing === 0 ? sum : `${sum}, ${failing} failing`;
  return fold(said, table(undefined, headings, rows), isOpen || failing > 0);
}

function failingOf(all: readonly { readonly success: boolean | undefined }[]): number {
  return all.filter(({ success }) => success === false).length;
}

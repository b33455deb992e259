import type { AccountStatus, QueryStatus } from '../../collect/accountStatus.ts';
import { describeEnd } from '../../config/config.ts';
import { FIRST_OF, groupInWords, type Group } from '../../reads/reads.ts';
import { ago, counted, withCommas, durationInWords, threeDigits, timeInWords } from '../../text/wording.ts';
import { addressOf, type Query } from './applicationsSection.ts';
import { bar, breakable, CROSS, DOT, facts, fold, markup, isolate, join, list } from './markup.ts';
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

/** Returns a chip for each of several accounts that does not fail: the problems name the failing ones. */
export function accountChips(accounts: readonly ShownAccount[], query: Query): Html | undefined {
  if (accounts.length < 2) return undefined;
  const others = sortAccounts(accounts).filter(({ style }) => style !== 'bad');
  const chips = others.map(({ account: { name }, style, sign, words }) => {
    const link = markup`<a href="${addressOf(query, { search: name, page: 1 })}">${isolate(name)}</a>`;
    const note = style === 'good' ? undefined : markup` <span class="${style}">${words}</span>`;
    return markup`<span class="${style}">${sign}</span> ${link}${note}`;
  });
  const all = list('chips', chips);
  const summary = `${counted(others.length, 'account')} without failures`;
  return markup`<div role="group" aria-label="Accounts">
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
  const link = markup`<a href="${addressOf(query, { isOpen: !isOpen })}#exporter">${isOpen ? 'Fold' : 'Open all'}</a>`;
  yield markup`<h2 id="exporter">What the exporter does <small>${link}</small></h2>`;
  for (const judged of shown.slice(0, WHOLE)) yield accountDetails(judged, isOpen, now);
  const rest = shown.length - WHOLE;
  if (rest > 0) yield markup`<p class="more">and ${counted(rest, 'account')} more: find one by its name.</p>`;
}

function accountDetails(
  { account, style, sign, words }: ReturnType<typeof judgeAccount>,
  isOpen: boolean,
  now: number,
) {
  const { budget, accountId, entry, states, tasks, labels, warnings, windowEnd, groups, plan, endOfLife } = account;
  const [{ lastMinute, configured, inForce, inFlight }, wasRead] = [budget, groups.some((each) => each.lastSuccess)];
  const summary = markup`${isolate(account.name)} <span class="${style}">${sign} ${words}</span>
<small>${counted(tasks.length, 'read')}, ${describeStates(states)}; ${lastMinute} of ${configured} calls in the last minute</small>`;
  const used = {
    paint: markup`class="used"`,
    from: 0,
    length: Math.min(1000, (1000 * lastMinute) / Math.max(1, configured)),
  };
  const reduced = inForce < configured ? ` (${Math.floor(inForce)} in force now)` : '';
  const pairs = Object.entries(labels).map(([name, value]) => markup`${isolate(name)}=${isolate(value)}`);
  const number = accountId === undefined ? undefined : `, account ${accountId}`;
  const window = windowEnd === undefined ? undefined : `ends ${timeInWords(windowEnd)}, ${ago(windowEnd, now)}`;
  const content = [
    list('chips', pairs),
    list('notice warn', warnings),
    endOfLife === undefined ? undefined : endNotice(endOfLife, now),
    facts('facts', [
      ['Interface', [INTERFACES[account.api], number, entry === undefined ? undefined : [' of ', isolate(entry)]]],
      ['Applications', describeApplications(account)],
      ['Newest window served', window ?? (wasRead ? 'none now' : 'none yet')],
      [
        'Calls in the last minute',
        [`${lastMinute} of ${configured}${reduced}, ${inFlight} in flight`, bar(undefined, [used])],
      ],
      ['Steady state', describePlan(plan)],
    ]),
    readTable(counted(groups.length, 'group'), groupRows(account, now), isOpen, now),
    readTable(`${counted(account.entities.length, 'type')} of entities`, typeRows(account, now), isOpen, now),
    readTable(counted(account.queries.length, 'query', 'queries'), queryRows(account, now), isOpen, now),
    slowestReads(account.slowest, isOpen),
  ];
  return markup`<section>${fold(summary, content, isOpen || style === 'warn')}</section>`;
}

function endNotice(endOfLife: number, now: number): Html {
  const style = endOfLife < now ? 'notice bad' : endOfLife - now < NEAR_END ? 'notice warn' : 'soft';
  return markup`<p class="${style}">The account is read through ${describeEnd(endOfLife, now)}.</p>`;
}

/** Returns `all fresh`, or `12 fresh, 3 due with the next scrape, 1 missing`, or `nothing`. */
function describeStates({ fresh, stale, missing, late }: States): string {
  const counts = Object.entries({ fresh, 'due with the next scrape': stale - late, stale: late, missing });
  const [first, ...others] = counts.filter(([, count]) => count > 0);
  if (first === undefined) return 'nothing';
  if (others.length === 0) return `all ${first[0]}`;
  return [first, ...others].map(([state, count]) => `${withCommas(count)} ${state}`).join(', ');
}

function describeApplications({ applications, applicationCounts, outage, groups }: ShownAccount): string {
  const has = (wanted: Group) => groups.some(({ group }) => group === wanted);
  if (!has('applications')) {
    const others = (['entities', 'queries'] as const).filter(has);
    return others.length === 0 ? 'none' : `none: ${others.join(' and ')} only`;
  }
  if (applications === undefined) return outage === undefined ? 'not read yet' : 'never read';
  if (applicationCounts === undefined) return counted(applications.length, 'application');
  return describeList(applicationCounts);
}

function describeList(counts: Record<'exported' | 'listed' | 'reporting', number>): string {
  const { exported, listed, reporting } = counts;
  return `${withCommas(exported)} exported of ${withCommas(listed)} listed, ${withCommas(reporting)} of them report`;
}

function describePlan({ callsPerMinute, budget, slowdown, concurrencyCapacity }: AccountStatus['plan']): string {
  const calls = `${threeDigits(callsPerMinute)} calls a minute`;
  if (slowdown <= 1) return calls;
  const isOverBudget = slowdown <= callsPerMinute / budget || concurrencyCapacity === undefined;
  const limit = isOverBudget
    ? `${threeDigits(budget)} of the budget`
    : `${Math.floor(concurrencyCapacity)} that the concurrent calls carry`;
  return `${calls}, more than the ${limit}: every group is refreshed less often`;
}

/** What a table says of a group, a type of entities or a query. */
interface ReadRow extends Pick<QueryStatus, 'success' | 'problem' | 'seconds' | 'lastSuccess'> {
  readonly title: HtmlValue;
  readonly values: string;
  readonly notes: readonly HtmlValue[];
}

function groupRows({ groups, lateByGroup }: ShownAccount, now: number): readonly ReadRow[] {
  return groups.map((each) => {
    const { group, tasks, intervalSeconds, effectiveIntervalSeconds: effective, oldestWindowEnd: end } = each;
    const late = Math.min(tasks.stale, lateByGroup.get(group) ?? 0);
    const slower = effective > intervalSeconds ? `, in effect ${durationInWords(effective)}` : '';
    const hasWindow = FIRST_OF[group].gives === 'window' && end !== undefined;
    const window = hasWindow ? `oldest window ended ${ago(end, now)}` : undefined;
    const notes = [`every ${durationInWords(intervalSeconds)}${slower}`, window];
    const values = describeStates({ ...tasks, late });
    return { ...each, title: groupInWords(group), problem: undefined, seconds: each.durationSeconds, values, notes };
  });
}

function typeRows({ entities, lateByGroup }: ShownAccount, now: number): readonly ReadRow[] {
  return entities.map((each) => {
    const { listed, excluded, leftOut, metrics, metricProblems, values: states, failing, oldestRead } = each;
    const read = counted(states.fresh + states.stale + states.missing, 'entity', 'entities');
    const problem = each.problem ?? (failing === 0 ? undefined : `golden metrics of ${failing} of ${read} failed`);
    const series = [`${counted(each.series, 'series', 'series')} of `, join(metrics.map(isolate), ', ')];
    const age = ['oldest value read ', timeAgo(oldestRead, now), windowNote(oldestRead, each.windowEnd, now)];
    const unread = metricProblems.map(({ metric, problem: why }) => {
      return markup`${isolate(metric)}: <span class="warn">${breakable(why)}</span>`;
    });
    const notes = [
      listed === undefined ? 'not read yet' : describeList({ ...each, listed }),
      excluded === 0 ? undefined : `${withCommas(excluded)} filtered out`,
      leftOut === 0 ? undefined : `${withCommas(leftOut)} beyond max_entities`,
      metrics.length === 0 ? undefined : series,
      oldestRead === undefined ? undefined : age,
    ];
    const late = Math.min(states.stale, lateByGroup.get('golden_metrics') ?? 0);
    const success = problem === undefined && unread.length === 0 ? each.success : false;
    const values = describeStates({ ...states, late });
    return {
      ...each,
      title: markup`<span class="group">${isolate(each.type)}</span>`,
      success,
      problem,
      values,
      notes: [...notes, ...unread],
    };
  });
}

function queryRows({ queries }: ShownAccount, now: number): readonly ReadRow[] {
  return queries.map((query) => {
    const { name, rows, series, lastSuccess, windowEnd, nrql } = query;
    const values = `${rows === undefined ? 'no rows yet' : counted(rows, 'row')}, ${withCommas(series)} series`;
    const notes = [[markup`<code>${nrql}</code>`, windowNote(lastSuccess, windowEnd, now)]];
    return { ...query, title: isolate(name), values, notes };
  });
}

/** Names the window of values that are much newer than it. */
function windowNote(readAt: number | undefined, windowEnd: number | undefined, now: number): HtmlValue {
  if (readAt === undefined || windowEnd === undefined || readAt - windowEnd < LONG_DELAY) return undefined;
  return [', of a window that ended ', timeAgo(windowEnd, now)];
}

/** Returns a table behind its summary, open if something in it fails; undefined without rows. */
function readTable(summary: string, reads: readonly ReadRow[], isOpen: boolean, now: number): Html | undefined {
  if (reads.length === 0) return undefined;
  const failing = reads.filter(({ success }) => success === false).length;
  const rows = reads.map(({ title, success, problem, seconds, lastSuccess, values, notes }) => {
    const words = success === undefined ? 'not yet' : success ? 'OK' : breakable(problem ?? 'failed');
    const took = seconds === undefined || success === undefined ? undefined : ` in ${durationInWords(seconds)}`;
    const attempt = markup`<span><span class="${success === false ? 'bad' : ''}">${words}</span>${took}</span>`;
    const present = notes.filter((note) => note !== undefined);
    return [title, attempt, timeAgo(lastSuccess, now), values, { style: 'long', value: join(present, '; ') }] as const;
  });
  const shown = table(undefined, ['What', 'Last attempt', 'Last success', 'Values', 'Notes'], rows);
  return fold(failing === 0 ? summary : `${summary}, ${failing} failing`, shown, isOpen || failing > 0);
}

function slowestReads(slowest: ShownAccount['slowest'], isOpen: boolean): Html | undefined {
  if (slowest.length === 0) return undefined;
  const rows = slowest.map(({ task, seconds, together }) => {
    const name = nameTask(task);
    const more = together > 1 ? ` and ${together - 1} more, each as long` : undefined;
    return [[task.group, name && [DOT, name], more], durationInWords(seconds)] as const;
  });
  const shown = table(undefined, ['What', 'Last attempt took'], rows);
  return fold(`Slowest read: ${durationInWords(slowest[0]?.seconds ?? 0)}`, shown, isOpen);
}

import type { AccountStatus, GroupStatus } from '../../collect/serve/accountStatus.ts';
import { describeEnd } from '../../config/config.ts';
import { FIRST_OF, describeGroup } from '../../reads/reads.ts';
import { ago, counted, withCommas, durationInWords, threeDigits, timeInWords } from '../../text/wording.ts';
import { addressOf, type Query } from './applicationsSection.ts';
import { breakable, CROSS, facts, fold, markup, isolate, join, list } from './markup.ts';
import { table, TICK, type Html } from './markup.ts';
import { nameTask } from './problemSection.ts';
import { isUnread, type ShownAccount } from './shownAccounts.ts';
import type { View } from './statusDocument.ts';

const INTERFACES = { rest: 'REST API (v2)', nerdgraph: 'NerdGraph' };

/** Limit of accounts that are shown with details. */
const MAX_DETAILED = 10;
/** Days before the end of an interface when the page begins to warn. */
const NEAR_END_DAYS = 180;

/** Judges the state of an account. A lower rank is worse. */
function judgeAccount(account: ShownAccount) {
  const { failing, tasks, budget, warnings, up, states } = account;
  const createState = (rank: number, style: 'bad' | 'warn' | 'soft' | 'good', sign: string, words: string) => {
    return { account, rank, style, sign, words };
  };
  if (isUnread(account)) return createState(0, 'bad', CROSS, 'cannot be read');
  if (failing > 0) return createState(1, 'bad', CROSS, `${failing} of ${counted(tasks.length, 'read')} failing`);
  if (budget.pausedUntil !== undefined) return createState(2, 'warn', '!', 'paused');
  if (warnings.length > 0) return createState(3, 'warn', '!', counted(warnings.length, 'warning'));
  if (!up) return createState(4, 'soft', '?', 'not read yet');
  if (states.missing > 0 && states.missing === tasks.length) return createState(4, 'soft', '?', 'nothing served now');
  return createState(5, 'good', TICK, 'read');
}

/** Yields a section per account, the worst first. A section is open only if its account has a warning or a pause. */
export function* accountSections({ accounts, now }: View, query: Query): Generator<Html> {
  const text = query.search.trim().toLowerCase();
  const named = accounts.filter(({ name }) => name === query.search);
  const similar = named.length > 0 ? named : accounts.filter(({ name }) => name.toLowerCase().includes(text));
  const shown = (similar.length > 0 ? similar : accounts).map(judgeAccount).sort((a, b) => a.rank - b.rank);
  const { isOpen } = query;
  const link = markup`<a href="${addressOf(query, { isOpen: !isOpen })}#exporter">${isOpen ? 'Fold' : 'Open all'}</a>`;
  yield markup`<h2 id="exporter">What the exporter does <small>${link}</small></h2>`;
  for (const judged of shown.slice(0, MAX_DETAILED)) yield accountDetails(judged, isOpen, now);
  const rest = shown.length - MAX_DETAILED;
  if (rest > 0) yield markup`<p class="more">and ${counted(rest, 'account')} more: find one by its name.</p>`;
}

function accountDetails(judged: ReturnType<typeof judgeAccount>, isOpen: boolean, now: number) {
  const { account, style, sign, words } = judged;
  const { budget, accountId, entry, states, tasks, warnings, windowEnd, plan, endOfLife, applicationCounts } = account;
  const { lastMinute, configured, inForce, inFlight } = budget;
  const late = [...account.lateByGroup.values()].reduce((sum, each) => sum + each, 0);
  const summary = markup`${isolate(account.name)} <span class="${style}">${sign} ${words}</span>
<small>${counted(tasks.length, 'read')}, ${describeStates(states, late)}; ${lastMinute} of ${configured} calls in the last minute</small>`;
  const reduced = inForce < configured ? `, ${Math.floor(inForce)} a minute in force` : '';
  const labels = Object.entries(account.labels).map(([name, value]) => markup`${isolate(name)}=${isolate(value)}`);
  const number = accountId === undefined ? undefined : `, account ${accountId}`;
  const daysLeft = ((endOfLife ?? now) - now) / 86_400;
  const ending = daysLeft < 0 ? 'notice bad' : daysLeft < NEAR_END_DAYS ? 'notice warn' : 'soft';
  const content = [
    list('notice warn', warnings),
    endOfLife && markup`<p class="${ending}">The account is read through ${describeEnd(endOfLife, now)}.</p>`,
    facts('facts', [
      ['Interface', [INTERFACES[account.api], number, entry === undefined ? undefined : [' of ', isolate(entry)]]],
      ['Labels', list('parts', labels)],
      ['Applications', applicationCounts && describeList(applicationCounts)],
      ['Newest window served', windowEnd === undefined ? 'none' : `${timeInWords(windowEnd)}, ${ago(windowEnd, now)}`],
      ['Calls now', `${inFlight} in flight${reduced}`],
      ['Steady state', describePlan(plan)],
    ]),
    ...Object.entries(listReads(account)).map(([what, reads]) => readTable(what, reads, isOpen, now)),
  ];
  return markup`<section>${fold(summary, content, isOpen || style === 'warn')}</section>`;
}

/** Returns `all fresh`, `12 fresh, 3 due with the next scrape, 1 missing`, or `nothing`. */
function describeStates({ fresh, stale, missing }: GroupStatus['tasks'], passedBy = 0): string {
  const late = Math.min(stale, passedBy);
  const counts = Object.entries({ fresh, 'due with the next scrape': stale - late, stale: late, missing });
  const present = counts.filter(([, count]) => count > 0);
  if (present.length < 2) return present.map(([state]) => `all ${state}`).join('') || 'nothing';
  return present.map(([state, count]) => `${withCommas(count)} ${state}`).join(', ');
}

function describeList({ exported, listed, reporting }: Record<'exported' | 'listed' | 'reporting', number>): string {
  return `${withCommas(exported)} exported of ${withCommas(listed)} listed, ${withCommas(reporting)} of them report`;
}

function describePlan({ callsPerMinute, budget, slowdown, concurrencyCapacity = Infinity }: AccountStatus['plan']) {
  const calls = `${threeDigits(callsPerMinute)} calls a minute`;
  const limit = threeDigits(Math.min(budget, concurrencyCapacity));
  return slowdown <= 1 ? calls : `${calls}, more than the ${limit} possible: every group is refreshed less often`;
}

/** A row of a table: a group, a type of entities or a query. */
type ReadRow = ReturnType<typeof listReads>['Groups' | 'Types of entities' | 'Queries'][number];

/** Returns the rows of each table, by title. */
function listReads({ groups, entities, queries, lateByGroup, slowest }: ShownAccount) {
  const groupRows = groups.map((each) => {
    const { group, tasks, intervalSeconds, effectiveIntervalSeconds: effective } = each;
    const longest = slowest.get(group);
    const slower = effective > intervalSeconds ? `, in effect ${durationInWords(effective)}` : '';
    const every = `every ${durationInWords(intervalSeconds)}${slower}`;
    return {
      ...each,
      title: describeGroup(group),
      problem: undefined,
      seconds: each.durationSeconds,
      windowEnd: FIRST_OF[group].gives === 'window' ? each.oldestWindowEnd : undefined,
      values: describeStates(tasks, lateByGroup.get(group)),
      notes: longest ? [every, [`slowest ${durationInWords(longest.seconds ?? 0)}: `, nameTask(longest)]] : [every],
    };
  });
  const typeRows = entities.map((each) => {
    const { type, listed, failing } = each;
    const failed = failing > 0 ? `golden metrics of ${counted(failing, 'entity', 'entities')} failed` : undefined;
    const problem = each.problem ?? failed;
    const unread = each.metricProblems.map(({ metric, problem: why }) => {
      return markup`${isolate(metric)}: <span class="warn">${breakable(why)}</span>`;
    });
    return {
      ...each,
      title: markup`<span class="group">${isolate(type)}</span>`,
      success: problem === undefined && unread.length === 0 ? each.success : false,
      problem,
      values: describeStates(each.values, lateByGroup.get('golden_metrics')),
      notes: [listed === undefined ? 'not read yet' : describeList({ ...each, listed }), ...unread],
    };
  });
  const queryRows = queries.map((query) => {
    const { name, rows, series, nrql } = query;
    const values = `${rows === undefined ? 'no rows yet' : counted(rows, 'row')}, ${withCommas(series)} series`;
    return { ...query, title: isolate(name), values, notes: [markup`<code>${nrql}</code>`] };
  });
  return { Groups: groupRows, 'Types of entities': typeRows, Queries: queryRows };
}

/** Returns a folded table, open if a row fails; undefined without rows. */
function readTable(what: string, reads: readonly ReadRow[], isOpen: boolean, now: number): Html | undefined {
  if (reads.length === 0) return undefined;
  const failing = reads.filter(({ success }) => success === false).length;
  const rows = reads.map(({ title, success, problem, seconds, lastSuccess, windowEnd, values, notes }) => {
    const words = success === undefined ? 'not yet' : success ? 'OK' : breakable(problem ?? 'failed');
    const took = seconds === undefined || success === undefined ? undefined : ` in ${durationInWords(seconds)}`;
    const attempt = markup`<span><span class="${success === false ? 'bad' : ''}">${words}</span>${took}</span>`;
    const window = windowEnd === undefined ? [] : [`oldest window ended ${ago(windowEnd, now)}`];
    const last = lastSuccess === undefined ? 'never' : ago(lastSuccess, now);
    return [title, attempt, last, values, join([...notes, ...window], '; ')];
  });
  const columns = { What: '', 'Last attempt': '', 'Last success': '', Values: '', Notes: 'long' };
  const shown = table(undefined, columns, rows);
  const summary = `${what}: ${withCommas(reads.length)}`;
  return fold(failing === 0 ? summary : `${summary}, ${failing} failing`, shown, isOpen || failing > 0);
}

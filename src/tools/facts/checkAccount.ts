import { UpstreamError, type Application, type KeyTransaction } from '../../api/types.ts';
import { REMEDIES } from '../../collect/remedies.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import { readAll } from '../upstream/readForCommand.ts';
import type { LiveAccount } from '../upstream/session.ts';
import { before, byThroughput, CallsSpent, MAX_CALLS } from './connections.ts';
import type { CountedCalls, GraphAccount, GraphConnection, Probe } from './connections.ts';
import type { RestAccount, RestConnection, Verdicts } from './connections.ts';
import { AGES, undecided, word, type Judged } from './evidence.ts';
import { TEN_MINUTES } from './factRow.ts';
import { FACTS, type Fact, type FactId } from './facts.ts';
import { judgeLate, type Reading } from './judges.ts';
import { GOLDEN_PROBE, NERDGRAPH_PROBES, readLargest } from './nerdgraphProbes.ts';
import { DATABASE_PROBE, countAt, readMinutes, REST_PROBES } from './restProbes.ts';
import { MINUTE_MS } from '../../formulas/units.ts';

/** An account of the configuration, connected through both interfaces. */
export interface FactAccount {
  /** The account through the interface that it is configured with. */
  readonly own: LiveAccount;
  readonly calls: CountedCalls;
  readonly rest: RestConnection;
  readonly graph: GraphConnection;
}

/** The clock and the waiting times of the command. */
export interface Timing {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Rejects with the reason of the signal. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Time for which the arriving data of one new minute is watched, in milliseconds; 0: it is not. */
  readonly waitMs: number;
  /** `collection.delay`, in milliseconds. */
  readonly delayMs: number;
}

/** The verdicts of an account, by fact in the order of the table. */
export interface AccountFacts {
  readonly account: string;
  readonly rows: readonly (Fact & { readonly judged: Judged })[];
  /** The reason why the account cannot be read, with a hint; then every row gives the reason. */
  readonly problem?: string;
}

const LARGEST = 5;
/** Most applications that are compared by traffic to find the largest, and read by id through the second interface. */
const MAX_RANKED = 200;
/** The most reads of one minute by `checkLate`. */
const LATE_CALLS = 5;

/** Checks all facts on an account. Rejects only with the reason of the signal. */
export async function checkAccount(account: FactAccount, timing: Timing): Promise<AccountFacts> {
  const found: Verdicts = {};
  const { name } = account.own.config;
  const rows = (fallback: Judged) => FACTS.map((fact) => ({ ...fact, judged: found[fact.id] ?? fallback }));
  try {
    const { rest, graph, largest } = await openSides(account, timing);
    await runProbes(found, REST_PROBES, rest);
    await runProbes(found, NERDGRAPH_PROBES, graph);
    await runProbes(found, [DATABASE_PROBE], isJudged(rest) ? rest : isJudged(graph) ? graph : { ...graph, ...rest });
    await runProbes(found, [GOLDEN_PROBE], graph);
    account.calls.limit = MAX_CALLS;
    found.late_minutes = await checkLate(account, largest, timing);
    return { account: name, rows: rows(undecided('no reporting application')) };
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const problem = `${error.message}; hint: ${REMEDIES[error.failure.reason]}`;
    return { account: name, rows: rows(failed(error)), problem };
  }
}

/** Reads the lists. Those of the account's own interface do not count as calls, all other reads do. */
async function openSides({ own, calls, rest, graph }: FactAccount, { now, delayMs, waitMs }: Timing) {
  calls.limit = MAX_CALLS - (waitMs > 0 ? LATE_CALLS : 0);
  const { api } = own.reader;
  const to = Math.floor((now() - delayMs) / MINUTE_MS) * 60;
  const listed = await own.reader.listApplications({}, own.call);
  const reporting = listed.filter((application) => application.reporting !== false);
  const ranked = api === 'rest' ? byThroughput(reporting) : await byRolling(graph, reporting, to);
  const largest = ranked.slice(0, LARGEST);
  const overGraph = await sideOf(now, async (): Promise<Omit<GraphAccount, 'first' | 'minute'>> => {
    const accountId = await graph.accountId();
    const side = { largest, to, graph, accountId, listed };
    return api === 'nerdgraph' || largest.length === 0 ? side : { ...side, largest: await readLargest(side) };
  });
  const overRest = await sideOf(now, async (): Promise<Omit<RestAccount, 'first' | 'minute'>> => {
    const keyTransactions = await rest.reader
      .listKeyTransactions({}, api === 'rest' ? own.call : rest.call)
      .catch(noneOf);
    if (api === 'rest') return { largest, to, rest, listed, keyTransactions };
    const silent = listed.filter((application) => application.reporting === false);
    const ids = [...ranked, ...silent].slice(0, MAX_RANKED).map(({ id }) => id);
    const ofRest = await rest.reader.listApplications({ ids }, rest.call);
    const largestOfRest = largest.flatMap(({ id }) => ofRest.find((application) => application.id === id) ?? []);
    return { largest: largestOfRest, to, rest, listed: ofRest, keyTransactions };
  });
  return { largest, rest: overRest, graph: overGraph };
}

function noneOf(error: unknown): readonly KeyTransaction[] {
  if (error instanceof UpstreamError) return [];
  throw error;
}

/** An account through one interface, or the verdict on all its facts because that interface cannot be used. */
async function sideOf<A extends Pick<RestAccount, 'largest'>>(
  now: Timing['now'],
  open: () => Promise<A>,
): Promise<(A & Pick<RestAccount, 'first' | 'minute'>) | Judged> {
  try {
    const account = await open();
    const [first] = account.largest;
    if (first === undefined) return undecided('no reporting application');
    // The minute is that after the lists, because a summary in them may already cover a minute that ended meanwhile.
    return { ...account, first, minute: Math.floor(now() / MINUTE_MS) * 60 };
  } catch (error) {
    if (error instanceof CallsSpent) return undecided('the calls are spent');
    if (!(error instanceof UpstreamError)) throw error;
    return undecided('no second interface', word('failure', error.failure.reason));
  }
}

/** Applications by throughput, which NerdGraph's list lacks, so it is queried for those with the most hosts. */
async function byRolling(
  { reader, call }: GraphConnection,
  applications: readonly Application[],
  to: number,
): Promise<readonly Application[]> {
  const ranked = applications.toSorted((a, b) => (b.hosts ?? 0) - (a.hosts ?? 0)).slice(0, MAX_RANKED);
  const { rolling } = reader;
  if (rolling === undefined || ranked.length === 0) return ranked;
  const subjects = ranked.map(({ id }) => ({ kind: 'application', applicationId: id }) as const);
  const outcomes = await readAll(rolling, subjects, before(to, TEN_MINUTES), call);
  const measured = ranked.map((application, index) => {
    const outcome = outcomes[index];
    const rate = outcome !== undefined && 'value' in outcome ? outcome.value.summary?.requestRate : undefined;
    return { application, rate: rate ?? 0 };
  });
  return measured.toSorted((a, b) => b.rate - a.rate).map(({ application }) => application);
}

/** Runs the probes of one interface in turn. A failed probe affects only its own rows. */
async function runProbes<A extends object>(
  found: Verdicts,
  probes: readonly Probe<A>[],
  side: A | Judged,
): Promise<void> {
  for (const { ids, needs, check } of probes) {
    const outcome = isJudged(side)
      ? side
      : (unmetNeed(needs, found) ?? (await orFailure<Verdicts | Judged>(() => check(side))));
    for (const id of ids) found[id] = isJudged(outcome) ? outcome : (outcome[id] ?? undecided('no traffic'));
  }
}

const isJudged = (outcome: object): outcome is Judged => 'verdict' in outcome;

/** The verdict of a probe whose needed fact does not hold; undefined where it can run. */
function unmetNeed(needs: FactId | undefined, found: Verdicts): Judged | undefined {
  const needed = needs && found[needs];
  if (needs === undefined || needed?.verdict === 'as assumed') return undefined;
  const why = needed !== undefined && 'why' in needed ? needed.why : 'another fact differs';
  return { verdict: 'not decidable here', why, seen: [], needs };
}

/** The result of a read, or the verdict of its failed call. */
async function orFailure<T>(read: () => Promise<T>): Promise<T | Judged> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CallsSpent) return undecided('the calls are spent');
    if (error instanceof UpstreamError) return failed(error);
    throw error;
  }
}

function failed({ failure }: UpstreamError): Judged {
  return undecided('the call failed', word('failure', failure.reason));
}

/** Reads how many requests the largest application had in one minute, repeatedly while the data of that minute arrives. */
async function checkLate(
  { own, rest, graph }: FactAccount,
  [largest]: readonly Application[],
  { now, sleep, waitMs, delayMs }: Timing,
): Promise<Judged> {
  if (waitMs === 0) return undecided('needs --wait');
  if (largest === undefined) return undecided('no reporting application');
  const started = now();
  const end = Math.floor(started / MINUTE_MS) * MINUTE_MS;
  // The last reading counts as final, so it is at the end of the wait.
  const last = Math.floor((started + waitMs - end) / MINUTE_MS);
  const ages = [...AGES.filter((age) => age < last), last];
  const readings: Reading[] = [];
  const range = { from: end / 1000 - 60, to: end / 1000 };
  return orFailure(async () => {
    for (const age of ages) {
      await sleep(Math.max(0, end + age * MINUTE_MS - now()), own.call.signal);
      const [minute] = await readMinutes(own.reader.api === 'rest' ? rest : graph, largest.id, [METRIC.web], range);
      readings.push({ age, calls: minute === undefined ? 0 : countAt(minute, METRIC.web) });
    }
    return judgeLate(readings, delayMs / MINUTE_MS);
  });
}

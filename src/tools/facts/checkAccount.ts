import type { Application } from '../../api/types.ts';
import { UpstreamError, REMEDIES } from '../../api/upstreamError.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import type { LiveAccount } from '../upstream/session.ts';
import { byThroughput, CallsSpent, MAX_CALLS } from './factConnections.ts';
import type { CountedCalls, GraphConnection, Probe, RestConnection, Verdicts } from './factConnections.ts';
import { AGES, undecided, word, type Judged, type Reason } from './evidence.ts';
import { COUNT, FACTS, type Fact, type FactId } from './facts.ts';
import { judgeLate, numberAt, sum } from './judges.ts';
import { GOLDEN_PROBE, NERDGRAPH_PROBES, readLargest } from './nerdgraphProbes.ts';
import { rowsFor } from './queryProbes.ts';
import { DATABASE_PROBE, readMinutes, REST_PROBES } from './restProbes.ts';
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

/** Checks all facts on an account; `judged` hears how many at a time. Rejects only with the reason of the signal. */
export async function checkAccount(
  account: FactAccount,
  timing: Timing,
  judged: (facts: number) => void = () => undefined,
): Promise<AccountFacts> {
  const found: Verdicts = {};
  const { name } = account.own.config;
  const rows = (fallback: Judged) => FACTS.map((fact) => ({ ...fact, judged: found[fact.id] ?? fallback }));
  try {
    const { rest, graph, largest } = await openSides(account, timing);
    const both = isJudged(rest) ? rest : isJudged(graph) ? graph : { ...graph, ...rest };
    await runProbes(found, judged, REST_PROBES, rest);
    await runProbes(found, judged, NERDGRAPH_PROBES, graph);
    await runProbes(found, judged, [DATABASE_PROBE], both);
    await runProbes(found, judged, [GOLDEN_PROBE], graph);
    account.calls.limit = MAX_CALLS;
    found.late_minutes = await checkLate(account, largest, timing);
    return { account: name, rows: rows(undecided('no reporting application')) };
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const problem = `${error.message}; hint: ${REMEDIES[error.failure.reason]}`;
    return { account: name, rows: rows(undecided('the call failed', word('failure', error.failure.reason))), problem };
  }
}

/** Reads the lists. Those of the account's own interface do not count as calls, all other reads do. */
async function openSides({ own, calls, rest, graph }: FactAccount, { now, delayMs, waitMs }: Timing) {
  calls.limit = MAX_CALLS - (waitMs > 0 ? LATE_CALLS : 0);
  const isRest = own.reader.api === 'rest';
  const to = Math.floor((now() - delayMs) / MINUTE_MS) * 60;
  const minute = (): number => Math.floor(now() / MINUTE_MS) * 60;
  const listed = await own.reader.listApplications({}, own.call);
  const reporting = listed.filter((application) => application.reporting !== false);
  const ranked = isRest ? byThroughput(reporting) : await byCalls(graph, reporting, to);
  const largest = ranked.slice(0, LARGEST);
  const common = { to, minute, listed };
  const overGraph = await sideOf(async () => {
    return { ...common, graph, largest: isRest ? await readLargest(graph, largest) : largest };
  });
  const overRest = await sideOf(async () => {
    if (isRest) return { ...common, rest, largest };
    const ids = ranked.slice(0, MAX_RANKED).map(({ id }) => id);
    const ofRest = await rest.reader.listApplications({ ids }, rest.call);
    const same = largest.flatMap(({ id }) => ofRest.find((application) => application.id === id) ?? []);
    return { ...common, rest, largest: same, listed: ofRest };
  });
  return { largest, rest: overRest, graph: overGraph };
}

/** An account through one interface, or the verdict on all its facts because that interface cannot be used. */
async function sideOf<A extends { readonly largest: readonly Application[] }>(
  open: () => Promise<A>,
): Promise<(A & { readonly first: Application }) | Judged> {
  const account = await orFailure(open, 'no second interface');
  if (isJudged(account)) return account;
  const [first] = account.largest;
  return first === undefined ? undecided('no reporting application') : { ...account, first };
}

/** Applications by their calls, which NerdGraph's list lacks, so it is queried for those with the most hosts. */
async function byCalls(graph: GraphConnection, applications: readonly Application[], to: number) {
  const ranked = applications.toSorted((a, b) => (b.hosts ?? 0) - (a.hosts ?? 0)).slice(0, MAX_RANKED);
  const query = `${COUNT} appId IN ({apps}) AND metricTimesliceName = '${METRIC.web}' FACET appId {time} LIMIT MAX`;
  const found = ranked.length === 0 ? [] : await orFailure(() => rowsFor({ graph, largest: ranked, to }, query));
  const rows = isJudged(found) ? [] : found;
  const calls = new Map(rows.map((row) => [String(row['facet']), numberAt(row, 'c')]));
  return ranked.toSorted((a, b) => (calls.get(String(b.id)) ?? 0) - (calls.get(String(a.id)) ?? 0));
}

/** Runs the probes of one interface in turn. A failed probe affects only its own rows. */
async function runProbes<A extends object>(
  found: Verdicts,
  judged: (facts: number) => void,
  probes: readonly Probe<A>[],
  side: A | Judged,
): Promise<void> {
  for (const { ids, needs, check } of probes) {
    const outcome = isJudged(side)
      ? side
      : (unmetNeed(needs, found) ?? (await orFailure<Verdicts | Judged>(() => check(side))));
    for (const id of ids) found[id] = isJudged(outcome) ? outcome : (outcome[id] ?? undecided('no traffic'));
    judged(ids.length);
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
async function orFailure<T>(read: () => Promise<T>, why: Reason = 'the call failed'): Promise<T | Judged> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CallsSpent) return undecided('the calls are spent');
    if (error instanceof UpstreamError) return undecided(why, word('failure', error.failure.reason));
    throw error;
  }
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
  const readings: (readonly [age: number, calls: number])[] = [];
  const range = { from: end / 1000 - 60, to: end / 1000 };
  return orFailure(async () => {
    for (const age of ages) {
      await sleep(Math.max(0, end + age * MINUTE_MS - now()), own.call.signal);
      const read = await readMinutes(own.reader.api === 'rest' ? rest : graph, largest.id, [METRIC.web], range);
      readings.push([age, sum(read(METRIC.web).map(({ count = 0 }) => count))]);
    }
    return judgeLate(readings, delayMs / MINUTE_MS);
  });
}

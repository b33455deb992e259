import { UpstreamError, type Application, type KeyTransaction } from '../../api/types.ts';
import type { Api } from '../../api/upstreamReader.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import { readAll } from '../upstream/readForCommand.ts';
import type { LiveAccount } from '../upstream/session.ts';
import { before, TEN_MINUTES, valueOf, type AskedGraph, type AskedRest, type Probe, type Verdicts } from './asked.ts';
import type { CountedCalls } from './connections.ts';
import { CallsSpent, MOST_CALLS, type GraphConnection, type RestConnection } from './connections.ts';
import { undecided, word, type Judged } from './evidence.ts';
import { FACTS, type FactId } from './facts.ts';
import { FIELD_PROBES } from './fieldProbes.ts';
import { judgeLate } from './judges.ts';
import { NERDGRAPH_PROBES, readKeyTransactions } from './nerdgraphProbes.ts';
import { readMinutes, REST_PROBES, valueAt } from './restProbes.ts';
import { SHARED_PROBES } from './sharedProbes.ts';

/** An account of the configuration, connected through both interfaces. */
export interface FactAccount {
  readonly name: string;
  /** The interface that it is configured with. */
  readonly api: Api;
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
  /** Time for which new minutes are watched until their data are complete, in milliseconds; 0 to skip that. */
  readonly waitMs: number;
  /** `collection.delay`, in milliseconds. */
  readonly delayMs: number;
}

/** The verdicts of an account, by fact in the order of the table. */
export interface AccountFacts {
  readonly account: string;
  readonly rows: readonly { readonly id: FactId; readonly judged: Judged }[];
  /** The reason why the account cannot be read; then every row gives it. */
  readonly problem?: string;
}

const LARGEST = 5;
/** Most applications that are compared by traffic to find the largest, and read by id through the second interface. */
const MOST_RANKED = 200;
/** Reads of the same minute while its data arrive. */
const LATE_CALLS = 5;
const AGES = [2, 3, 5, 10] as const;
const MINUTE = 60_000;

/** Checks all facts on an account. Rejects only with the reason of the signal. */
export async function askAccount(account: FactAccount, timing: Timing): Promise<AccountFacts> {
  const found: Verdicts = {};
  const rows = () => FACTS.map(({ id }) => ({ id, judged: found[id] ?? undecided('no reporting application') }));
  try {
    const sides = await openSides(account, timing);
    await ask(found, REST_PROBES, sides.rest);
    await ask(found, NERDGRAPH_PROBES, sides.graph);
    const both = sides.rest.asked && sides.graph.asked ? { ...sides.graph.asked, ...sides.rest.asked } : undefined;
    const whyNot = sides.rest.whyNot ?? sides.graph.whyNot;
    await ask(found, SHARED_PROBES, { ...(both && { asked: both }), ...(whyNot && { whyNot }) });
    await ask(found, FIELD_PROBES, sides.graph);
    account.calls.most = MOST_CALLS;
    found.late_minutes = await askLate(account, sides.largest, timing);
    return { account: account.name, rows: rows() };
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    for (const { id } of FACTS) found[id] ??= failed(error);
    return { account: account.name, rows: rows(), problem: error.message };
  }
}

/** An account through one interface, or the reason why that interface cannot be used. */
interface Side<A> {
  readonly asked?: A;
  readonly whyNot?: Judged;
}

/** Reads the lists. Only the lists of the second interface count as calls. */
async function openSides({ own, calls, rest, graph, api }: FactAccount, { now, delayMs, waitMs }: Timing) {
  calls.most = MOST_CALLS - (waitMs > 0 ? LATE_CALLS : 0);
  const minute = Math.floor(now() / MINUTE) * 60;
  const to = Math.floor((now() - delayMs) / MINUTE) * 60;
  const listed = await own.reader.listApplications({}, own.call);
  const reporting = listed.filter((application) => application.reporting !== false);
  const largest = api === 'rest' ? byThroughput(reporting) : await byRolling(graph, reporting, to);
  const common = { largest: largest.slice(0, LARGEST), to, minute };
  const overRest = sideOf(async (): Promise<AskedRest> => {
    if (api === 'rest') {
      const keyTransactions = await own.reader.listKeyTransactions({}, own.call).catch(noneOf);
      return { ...common, rest, listed, keyTransactions };
    }
    const silent = listed.filter((application) => application.reporting === false);
    const ids = [...largest, ...silent].slice(0, MOST_RANKED).map(({ id }) => id);
    const ofRest = await rest.reader.listApplications({ ids }, rest.call);
    const known = new Map(ofRest.map((application) => [application.id, application]));
    const again = common.largest.flatMap(({ id }) => known.get(id) ?? []);
    return { ...common, largest: again, rest, listed: ofRest, keyTransactions: [] };
  });
  const overGraph = sideOf(async (): Promise<AskedGraph> => {
    const accountId = await graph.accountId();
    const ofGraph = api === 'nerdgraph' ? listed : await graph.reader.listApplications({}, graph.call);
    return { ...common, graph, accountId, listed: ofGraph };
  });
  const [restSide, graphSide] = [await overRest, await overGraph];
  return { largest: common.largest, rest: await withKeyTransactions(restSide, graphSide, api), graph: graphSide };
}

/** When the account uses NerdGraph, reads from REST the key transactions that NerdGraph lists. */
async function withKeyTransactions(rest: Side<AskedRest>, graph: Side<AskedGraph>, api: Api): Promise<Side<AskedRest>> {
  const { asked } = rest;
  if (api === 'rest' || asked === undefined || graph.asked === undefined) return rest;
  try {
    const ids = (await readKeyTransactions(graph.asked)).flatMap(({ id }) => id ?? []);
    const keyTransactions = await asked.rest.reader.listKeyTransactions({ ids }, asked.rest.call);
    return { asked: { ...asked, keyTransactions } };
  } catch (error) {
    return { asked: { ...asked, keyTransactions: noneOf(error) } };
  }
}

function noneOf(error: unknown): KeyTransaction[] {
  if (error instanceof UpstreamError) return [];
  throw error;
}

async function sideOf<A>(open: () => Promise<A>): Promise<Side<A>> {
  try {
    return { asked: await open() };
  } catch (error) {
    if (error instanceof CallsSpent) return { whyNot: undecided('the calls are spent') };
    if (!(error instanceof UpstreamError)) throw error;
    return { whyNot: undecided('no second interface', word('failure', error.failure.reason)) };
  }
}

function byThroughput(applications: readonly Application[]): readonly Application[] {
  return applications.toSorted((a, b) => (b.summary?.throughput ?? 0) - (a.summary?.throughput ?? 0));
}

/** NerdGraph's list has no traffic, so it is queried for the applications with the most hosts. */
async function byRolling(
  { reader, call }: GraphConnection,
  applications: readonly Application[],
  to: number,
): Promise<readonly Application[]> {
  const ranked = applications.toSorted((a, b) => (b.hosts ?? 0) - (a.hosts ?? 0)).slice(0, MOST_RANKED);
  const { rolling } = reader;
  if (rolling === undefined || ranked.length === 0) return ranked;
  const subjects = ranked.map(({ id }) => ({ kind: 'application', applicationId: id }) as const);
  const outcomes = await readAll(rolling, subjects, before(to, TEN_MINUTES), call);
  const traffic = new Map(ranked.map(({ id }, index) => [id, valueOf(outcomes[index])?.summary?.throughput ?? 0]));
  return ranked.toSorted((a, b) => (traffic.get(b.id) ?? 0) - (traffic.get(a.id) ?? 0));
}

/** Runs the probes of one interface in turn. A failed probe affects only its own rows. */
async function ask<A extends { readonly largest: readonly unknown[] }>(
  found: Verdicts,
  probes: readonly Probe<A>[],
  { asked, whyNot }: Side<A>,
): Promise<void> {
  for (const { ids, needs, ask: askProbe } of probes) {
    const before = needs === undefined ? undefined : found[needs];
    const judged =
      asked === undefined
        ? (whyNot ?? undecided('no second interface'))
        : asked.largest.length === 0
          ? undecided('no reporting application')
          : needs !== undefined && before?.verdict !== 'as assumed'
            ? unmet(needs, before)
            : undefined;
    const verdicts = judged === undefined && asked !== undefined ? await outcomeOf(() => askProbe(asked)) : {};
    for (const id of ids) {
      found[id] = judged ?? ('failure' in verdicts ? verdicts.failure : (verdicts[id] ?? undecided('no traffic')));
    }
  }
}

/** The verdict of a fact that depends on another fact, which it names. */
function unmet(needs: FactId, before: Judged | undefined): Judged {
  const why = before !== undefined && 'why' in before ? before.why : 'another fact differs';
  return { verdict: 'not decidable here', why, seen: [], needs };
}

async function outcomeOf(asking: () => Promise<Verdicts>): Promise<Verdicts | { readonly failure: Judged }> {
  try {
    return await asking();
  } catch (error) {
    if (error instanceof CallsSpent) return { failure: undecided('the calls are spent') };
    if (error instanceof UpstreamError) return { failure: failed(error) };
    throw error;
  }
}

function failed({ failure }: UpstreamError): Judged {
  return undecided('the call failed', word('failure', failure.reason));
}

/** Reads the calls of a minute of the largest application repeatedly while its data arrive. */
async function askLate(
  { own, api, rest, graph }: FactAccount,
  [largest]: readonly Application[],
  { now, sleep, waitMs, delayMs }: Timing,
): Promise<Judged> {
  if (waitMs === 0) return undecided('needs --wait');
  if (largest === undefined) return undecided('no reporting application');
  const started = now();
  const end = Math.floor(started / MINUTE) * MINUTE;
  const last = started + waitMs;
  const ages = [...AGES, Math.floor((last - end) / MINUTE)].filter(
    (age, index, all) => end + age * MINUTE <= last && (index === 0 || age > (all[index - 1] ?? 0)),
  );
  const readings: { readonly age: number; readonly calls: number }[] = [];
  const range = { from: end / 1000 - 60, to: end / 1000 };
  const outcome = await outcomeOf(async () => {
    for (const age of ages) {
      await sleep(Math.max(0, end + age * MINUTE - now()), own.call.signal);
      const [minute] = await readMinutes(api === 'rest' ? rest : graph, largest.id, [METRIC.web], range);
      readings.push({ age, calls: minute === undefined ? 0 : valueAt(minute, METRIC.web, 'call_count') });
    }
    return {};
  });
  return 'failure' in outcome ? outcome.failure : judgeLate(readings, delayMs / MINUTE);
}

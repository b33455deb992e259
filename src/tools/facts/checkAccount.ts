import type { Application } from '../../api/types.ts';
import { REMEDIES, UpstreamError } from '../../api/upstreamError.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import { MINUTE_MS } from '../../formulas/units.ts';
import { CallsSpent, MAX_CALLS, type Connection, type Timing } from './askedAccount.ts';
import { undecided, word, type Judged } from './evidence.ts';
import { APP_ID, COUNT, FACTS, LATE_MINUTES, rowsFor, type Fact } from './facts.ts';
import { facetsOf, numberAt } from './judges.ts';

/** The verdicts of an account, by fact in the order of the table. */
export interface AccountFacts {
  readonly account: string;
  readonly rows: readonly (Fact & { readonly judged: Judged })[];
  /** The reason why the account cannot be read, with a hint; then every row gives the reason. */
  readonly problem?: string;
}

const LARGEST = 5;
/** Most applications that are compared by traffic to find the largest. */
const MAX_RANKED = 200;
/** The most reads of one minute while its data arrive. */
const LATE_CALLS = 5;

/** Checks all facts on an account; `done` hears of each. Rejects only with the reason of the signal. */
export async function checkAccount(
  connection: Connection,
  timing: Timing,
  done: () => void = () => undefined,
): Promise<AccountFacts> {
  const { live, calls } = connection;
  const account = live.config.name;
  const allAre = (judged: Judged) => FACTS.map((fact) => ({ ...fact, judged }));
  calls.limit = MAX_CALLS - (timing.waitMs > 0 ? LATE_CALLS : 0);
  try {
    // The lists do not count as calls, all other reads do.
    const listed = await live.reader.listApplications({}, live.call);
    const to = Math.floor((timing.now() - timing.delayMs) / MINUTE_MS) * 60;
    const largest = await findLargest(connection, listed, to);
    if (largest.length === 0) return { account, rows: allAre(undecided('no reporting application')) };
    const rows: (Fact & { readonly judged: Judged })[] = [];
    for (const fact of FACTS) {
      if (fact.id === LATE_MINUTES) calls.limit = MAX_CALLS;
      const needed = fact.asked.includes('{app') ? rows.find(({ id }) => id === APP_ID)?.judged : undefined;
      const check = () => fact.check({ ...connection, listed, largest, to, timing });
      rows.push({ ...fact, judged: unmetNeed(needed) ?? (await orFailure(check)) });
      done();
    }
    return { account, rows };
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const { reason } = error.failure;
    const problem = `${error.message}; hint: ${REMEDIES[reason]}`;
    return { account, rows: allAre(undecided('the call failed', word('failure', reason))), problem };
  }
}

/** The reporting applications with the most calls. The list has no calls, so those with the most hosts are queried. */
async function findLargest(connection: Connection, listed: readonly Application[], to: number) {
  const reporting = listed.filter((application) => application.reporting !== false);
  const ranked = reporting.toSorted((a, b) => (b.hosts ?? 0) - (a.hosts ?? 0)).slice(0, MAX_RANKED);
  if (ranked.length === 0) return [];
  const query = `${COUNT} appId IN ({apps}) AND metricTimesliceName = '${METRIC.web}' FACET appId {time} LIMIT MAX`;
  const found = await orFailure(() => rowsFor({ ...connection, largest: ranked, to }, query));
  const rows = 'verdict' in found ? [] : found;
  const calls = new Map(rows.map((row) => [facetsOf(row).join(), numberAt(row, 'c')]));
  const callsOf = ({ id }: Application): number => calls.get(String(id)) ?? 0;
  return ranked.toSorted((a, b) => callsOf(b) - callsOf(a)).slice(0, LARGEST);
}

/** The verdict of a fact that needs another one; undefined where that is as assumed, or none is needed. */
function unmetNeed(needed: Judged | undefined): Judged | undefined {
  if (needed === undefined || needed.verdict === 'as assumed') return undefined;
  const why = 'why' in needed ? needed.why : 'another fact differs';
  return { verdict: 'not decidable here', why, seen: [], needs: APP_ID };
}

/** The result of a read, or the verdict of its failed call: a failure affects only its own fact. */
async function orFailure<T>(read: () => Promise<T>): Promise<T | Judged> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CallsSpent) return undecided('the calls are spent');
    if (error instanceof UpstreamError) return undecided('the call failed', word('failure', error.failure.reason));
    throw error;
  }
}

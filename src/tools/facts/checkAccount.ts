import { REMEDIES, UpstreamError } from '../../api/upstreamError.ts';
import { MINUTE_MS, MINUTE_S } from '../../formulas/units.ts';
import type { Connection, Timing } from './askedAccount.ts';
import { leaveUndecided, observeWord, type Judged } from './evidence.ts';
import { APP_ID, FACTS } from './facts.ts';
import type { Fact } from './queries.ts';

export type CheckedRow = Fact & { readonly judged: Judged };

export interface AccountFacts {
  readonly account: string;
  readonly rows: readonly CheckedRow[];
  /** Why the account cannot be read, with a hint. Every row then has this reason. */
  readonly problem?: string;
}

const LARGEST = 5;

/** Checks all facts on an account, and calls `done` after each. Rejects only with the reason of the signal. */
export async function checkAccount(connection: Connection, timing: Timing, done?: () => void): Promise<AccountFacts> {
  const { live } = connection;
  const account = live.config.name;
  const judgeAll = (judged: Judged) => FACTS.map((fact) => ({ ...fact, judged }));
  try {
    const listed = await live.reader.listApplications({}, live.call);
    const to = Math.floor((timing.now() - timing.delayMs) / MINUTE_MS) * MINUTE_S;
    const reporting = listed
      .filter((application) => application.reporting !== false)
      .toSorted((a, b) => (b.hosts ?? 0) - (a.hosts ?? 0));
    const largest = reporting.slice(0, LARGEST);
    if (largest.length === 0) return { account, rows: judgeAll(leaveUndecided('no reporting application')) };
    const asked = { ...connection, ...timing, reporting, largest, to };
    const rows: CheckedRow[] = [];
    for (const fact of FACTS) {
      const needed = fact.asked.includes('{app') ? rows.find(({ id }) => id === APP_ID)?.judged : undefined;
      const isMet = needed === undefined || needed.verdict === 'as assumed';
      const unmet = () => ({ ...leaveUndecided(needed?.why ?? 'another fact differs'), needs: APP_ID });
      rows.push({ ...fact, judged: isMet ? await fact.check(asked).catch(judgeFailure) : unmet() });
      done?.();
    }
    return { account, rows };
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const problem = `${error.message}; hint: ${REMEDIES[error.failure.reason]}`;
    return { account, rows: judgeAll(judgeFailure(error)), problem };
  }
}

/** Returns the verdict for a failed call, which affects only its fact. Throws any other error. */
function judgeFailure(error: unknown): Judged {
  if (error instanceof UpstreamError)
    return leaveUndecided('the call failed', observeWord('failure', error.failure.reason));
  throw error;
}

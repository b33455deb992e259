import { inSlices } from '../../eventLoop/turns.ts';
import { percent } from '../../text/wording.ts';
import type { ShownAccount, ShownApplication, ShownEntity } from './shownAccounts.ts';

/** The limits of the shipped alerts: below the second and the last of them there is too little traffic to judge. */
const MAX_ERROR_RATIO = 0.05;
const MIN_ERRORS_PER_SECOND = 0.02;
const MIN_APDEX_SCORE = 0.7;
const MIN_APDEX_REQUESTS = 100;

const NO_TROUBLE = 9;

type Judged = Pick<ShownApplication, 'health' | 'errorRatio' | 'requests' | 'apdexScore' | 'apdexRequests'>;

type Trouble = ReturnType<typeof findTroubles>[number];

/** Returns what is wrong with an application or an entity, the gravest first; its rank is 0. */
export function findTroubles(judged: Judged) {
  const { health, errorRatio = 0, requests = 0, apdexScore = 1, apdexRequests = 0 } = judged;
  const isErring = errorRatio > MAX_ERROR_RATIO && errorRatio * requests > MIN_ERRORS_PER_SECOND;
  const isSlow = apdexScore < MIN_APDEX_SCORE && apdexRequests >= MIN_APDEX_REQUESTS;
  const all = [
    { is: health === 'red', figure: 'health', text: 'health red', style: 'bad' },
    { is: health === 'orange', figure: 'health', text: 'health orange', style: 'warn' },
    { is: isErring, figure: 'errors', text: `errors ${percent(errorRatio)}`, style: 'bad' },
    { is: isSlow, figure: 'apdex', text: `Apdex ${apdexScore.toFixed(2)}`, style: 'bad' },
  ] as const;
  return all.map((trouble, rank) => ({ ...trouble, rank })).filter(({ is }) => is);
}

/** An application of the page. New Relic's ids are unique, so one that several accounts list is one application. */
export interface ApplicationRow {
  readonly application: ShownApplication;
  /** The accounts that list it; the values are of the first that serves a response time, or of the first. */
  readonly accounts: readonly ShownAccount[];
  readonly troubles: readonly Trouble[];
}

export interface EntityRow extends Pick<ApplicationRow, 'troubles'> {
  readonly entity: ShownEntity;
  readonly account: ShownAccount;
}

/** Returns the rank of the gravest trouble. */
export const rankTroubles = ([gravest]: readonly Trouble[]): number => gravest?.rank ?? NO_TROUBLE;

/** Returns applications in trouble first, then the slowest, then those without a response time; lets other work run in between. */
export async function listApplications(
  accounts: readonly ShownAccount[],
  signal: AbortSignal,
): Promise<readonly ApplicationRow[]> {
  const rows = new Map<number, ApplicationRow>();
  for (const account of accounts) {
    const merge = (application: ShownApplication): void => {
      const known = rows.get(application.id);
      const isBetter = known?.application.responseTime === undefined && application.responseTime !== undefined;
      const shown = known === undefined || isBetter ? application : known.application;
      const listing = [...(known?.accounts ?? []), account];
      rows.set(application.id, { application: shown, accounts: listing, troubles: findTroubles(shown) });
    };
    await inSlices(account.applications ?? [], merge, signal);
  }
  // The keys are objects of one shape: comparing the applications themselves would hold the event loop five times as long.
  const keys = Array.from(rows.values(), (row) => {
    const { id, name, responseTime = -1 } = row.application;
    return { row, rank: rankTroubles(row.troubles), responseTime, name, id };
  });
  const byName = (a: string, b: string) => (a < b ? -1 : Number(a > b));
  keys.sort((a, b) => {
    return a.rank - b.rank || b.responseTime - a.responseTime || byName(a.name, b.name) || a.id - b.id;
  });
  return keys.map(({ row }) => row);
}

/** Returns entities in trouble first, otherwise in the order of the accounts. */
export function listEntities(accounts: readonly ShownAccount[]): readonly EntityRow[] {
  const rows = accounts.flatMap((account) =>
    account.monitored.map((entity) => ({ entity, account, troubles: findTroubles(entity) })),
  );
  return rows.sort((a, b) => rankTroubles(a.troubles) - rankTroubles(b.troubles));
}

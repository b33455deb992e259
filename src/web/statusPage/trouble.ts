import { inSlices } from '../../eventLoop/turns.ts';
import { percent } from '../../text/wording.ts';
import type { ShownAccount, ShownApplication } from './shownAccounts.ts';

/** An error ratio above the one, and an Apdex score below the other, is trouble. */
const MAX_ERROR_RATIO = 0.05;
const MIN_APDEX_SCORE = 0.7;

type Judged = Pick<ShownApplication, 'health' | 'errorRatio' | 'apdexScore'>;

/** What can be wrong with an application or an entity, the gravest first. */
const TROUBLES: readonly (readonly [found: (of: Judged) => boolean, words: (of: Judged) => string, style?: 'warn'])[] =
  [
    [({ health }) => health === 'red', () => 'health red'],
    [({ health }) => health === 'orange', () => 'health orange', 'warn'],
    [({ errorRatio = 0 }) => errorRatio > MAX_ERROR_RATIO, ({ errorRatio = 0 }) => `errors ${percent(errorRatio)}`],
    [({ apdexScore = 1 }) => apdexScore < MIN_APDEX_SCORE, ({ apdexScore = 1 }) => `Apdex ${apdexScore.toFixed(2)}`],
  ];

/** The gravest trouble, where lower is worse; Infinity without one. */
export function rankOf(judged: Judged): number {
  const rank = TROUBLES.findIndex(([found]) => found(judged));
  return rank < 0 ? Infinity : rank;
}

/** The style of what has this rank: orange for the vendor's orange, red for all else. */
export function troubleStyle(rank: number): 'bad' | 'warn' {
  return TROUBLES[rank]?.[2] ?? 'bad';
}

/** All that is wrong, such as `health red, errors 12 %`. */
export function troubleInWords(judged: Judged): string {
  return TROUBLES.flatMap(([found, words]) => (found(judged) ? [words(judged)] : [])).join(', ');
}

/** An application of the page. New Relic's ids are unique, so one that several accounts list is one application. */
export interface ApplicationRow {
  readonly application: ShownApplication;
  /** The accounts that list it; the values are of the first that serves a response time, or of the first. */
  readonly accounts: readonly ShownAccount[];
  readonly rank: number;
}

/** In trouble first, by what is wrong, then the slowest, then those without a response time; lets other work run in between. */
export async function applicationRows(
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
      rows.set(application.id, { application: shown, accounts: listing, rank: rankOf(shown) });
    };
    await inSlices(account.applications ?? [], merge, signal);
  }
  // The keys are objects of one shape: comparing the applications themselves would hold the event loop five times as long.
  const keys = Array.from(rows.values(), (row) => {
    const { id, name, responseTime = -1 } = row.application;
    return { row, rank: row.rank, responseTime, name, id };
  });
  keys.sort((a, b) => {
    if (a.rank !== b.rank) return a.rank - b.rank;
    if (a.responseTime !== b.responseTime) return b.responseTime - a.responseTime;
    return a.name === b.name ? a.id - b.id : a.name < b.name ? -1 : 1;
  });
  return keys.map(({ row }) => row);
}

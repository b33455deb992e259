import { inSlices } from '../../eventLoop/turns.ts';
import { percent } from '../../text/wording.ts';
import type { Shown, ShownAccount } from './shownAccounts.ts';

/** Limits of the shipped alerts. Below MIN_ERRORS_PER_SECOND and MIN_APDEX_REQUESTS, traffic is too low to judge. */
const MAX_ERROR_RATIO = 0.05;
const MIN_ERRORS_PER_SECOND = 0.02;
const MIN_APDEX_SCORE = 0.7;
const MIN_APDEX_REQUESTS = 100;

const NO_TROUBLE = 9;

/** Returns the troubles of an application or an entity, the gravest first. A lower rank is graver. */
export function findTroubles({ health, errorRatio = 0, requests = 0, apdexScore = 1, apdexRequests = 0 }: Shown) {
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

/** An application, or an entity of another type, with the names of the accounts that list it. */
export type Row = ReturnType<typeof toRow>;

function toRow(shown: Shown, accounts: readonly string[]) {
  const { type, id, name, responseTime } = shown;
  const troubles = findTroubles(shown);
  return { type, id, name, accounts, shown, troubles, responseTime, rank: troubles[0]?.rank ?? NO_TROUBLE };
}

/**
 * Returns rows in trouble first, then applications, the slowest first, then entities. Merges an application that
 * several accounts list, because ids are unique, with the values of the first account that serves a response time.
 */
export async function listRows(accounts: readonly ShownAccount[], signal: AbortSignal): Promise<readonly Row[]> {
  const byId = new Map<Shown['id'], Row>();
  const entities: Row[] = [];
  for (const { name, applications, monitored } of accounts) {
    const merge = (shown: Shown): void => {
      const known = byId.get(shown.id);
      const isBetter = known?.responseTime === undefined && shown.responseTime !== undefined;
      byId.set(shown.id, toRow(isBetter ? shown : (known?.shown ?? shown), [...(known?.accounts ?? []), name]));
    };
    await inSlices(applications ?? [], merge, signal);
    await inSlices(monitored, (shown) => entities.push(toRow(shown, [name])), signal);
  }
  // Rows are objects of one shape. Sorting the shown values directly would block the event loop five times as long.
  const byName = (a: string, b: string) => (a < b ? -1 : Number(a > b));
  const applications = [...byId.values()].sort((a, b) => {
    return (b.responseTime ?? -1) - (a.responseTime ?? -1) || byName(a.name, b.name) || Number(a.id) - Number(b.id);
  });
  return [...applications, ...entities].sort((a, b) => a.rank - b.rank);
}

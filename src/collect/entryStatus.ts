import type { Entry } from './accounts.ts';
import { missingInEntry, noticesOfEntry, unmatchedWarnings } from './accountWarnings.ts';
import type { Clock } from './clock.ts';

export type EntryStatus = ReturnType<typeof entryStatus>;

/** The state of an entry with `account_ids`. Times are Unix seconds; unknown values are undefined. */
export function entryStatus(entry: Entry, clock: Clock) {
  const { list, expanded, accounts } = entry;
  const { problem, tried, listed, refused, hasExported, context } = list;
  const verdicts = expanded?.verdicts;
  return {
    entry: list.entry,
    labels: context.account.labels,
    /** True when the last attempt to read the list succeeded. */
    success: tried ? problem === undefined : undefined,
    reason: problem?.reason,
    problem: problem?.text,
    /** The end of the first of the failing attempts. */
    since: problem === undefined ? undefined : (clock.now() + problem.since - clock.monotonic()) / 1000,
    /** The reason why no account of the entry is read. */
    refused,
    /** True until a list has left an account. */
    isEmpty: !hasExported,
    /** The numbers of accounts that the key lists, that are exported, and that `max_accounts` leaves out. */
    listed,
    exported: verdicts?.filter(({ verdict }) => 'exportedAs' in verdict).length,
    leftOut: verdicts?.filter(({ verdict }) => 'leftOut' in verdict && verdict.leftOut === 'max_accounts').length,
    accounts: verdicts ?? [],
    warnings: [...noticesOfEntry(entry), ...unmatchedWarnings(accounts)],
    missingMetrics: missingInEntry(entry),
  };
}

import type { AccountList } from './accountList.ts';
import type { Clock } from './clock.ts';
import type { ExpandedEntry } from './expandAccounts.ts';

export type EntryStatus = ReturnType<typeof entryStatus>;

/**
 * The state of an entry with `account_ids`. Times are Unix seconds; unknown values are undefined.
 *
 * @param verdicts what became of the accounts that its key lists; undefined before the first good list
 */
export function entryStatus(
  list: AccountList,
  verdicts: ExpandedEntry['verdicts'] | undefined,
  sentences: { readonly warnings: readonly string[]; readonly missingMetrics: readonly string[] },
  clock: Clock,
) {
  const { problem, tried, listed, refused, hasExported, context } = list;
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
    ...sentences,
  };
}

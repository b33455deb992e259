import type { AccountConfig, Config } from '../../config/config.ts';
import { suggest } from '../../config/wording.ts';
import { UsageError } from '../../cli/process.ts';

/** True when the accounts that a command reads are not known before lists of accounts were read. */
export function needsAccountLists({ accounts }: Config, name: string | undefined): boolean {
  const isOfFile = accounts.some((account) => account.account_ids === undefined && account.name === name);
  return !isOfFile && accounts.some(({ account_ids }) => account_ids !== undefined);
}

/**
 * The accounts that `--account` names: one by its name or else by its number, or all of an entry; without a name, all. Throws a
 * UsageError for an unknown one.
 */
export function chosenAccounts(
  accounts: readonly AccountConfig[],
  file: readonly AccountConfig[],
  name: string | undefined,
): readonly AccountConfig[] {
  if (name === undefined) return accounts;
  const ways = [
    (account: AccountConfig) => account.name === name,
    (account: AccountConfig) => String(account.account_id) === name,
    (account: AccountConfig) => account.origin?.entry === name,
  ];
  for (const way of ways) {
    const found = accounts.filter(way);
    if (found.length > 0) return found;
  }
  if (file.some((entry) => entry.name === name)) throw new UsageError(`entry ${name} has no account`);
  const names = [...accounts, ...file.filter(({ account_ids }) => account_ids !== undefined)].map((each) => each.name);
  throw new UsageError(`there is no account "${name}": the accounts are ${namesOf(accounts)}${suggest(name, names)}`);
}

/** The most names in a message: a key may see thousands of accounts. */
const MAX_NAMED = 20;

export function namesOf(accounts: readonly AccountConfig[]): string {
  const named = accounts.slice(0, MAX_NAMED).map(({ name }) => name);
  return named.join(', ') + (accounts.length > MAX_NAMED ? ` and ${accounts.length - MAX_NAMED} more` : '');
}

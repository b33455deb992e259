import type { Application, KeyTransaction } from '../../api/types.ts';
import { findApplication, isNotFound } from '../upstream/applications.ts';
import type { LiveAccount, LiveSession } from '../upstream/session.ts';

/** What was named on the command line, as found in one account. */
export interface Named {
  readonly applications: Map<number, Application>;
  readonly keyTransactions: Map<number, KeyTransaction>;
}

/** What was named, by the account in which it is. */
export type Places = ReadonlyMap<LiveAccount, Named>;

/**
 * Finds the applications and key transactions that were named; ids are read by id. Throws an Error whose message is a
 * sentence when one of them is in no account.
 */
export async function whereIs(
  { accounts }: LiveSession,
  apps: readonly string[],
  keyTransactions: readonly number[],
): Promise<Places> {
  const places = new Map<LiveAccount, Named>();
  const at = (account: LiveAccount): Named => {
    const named = places.get(account) ?? { applications: new Map(), keyTransactions: new Map() };
    places.set(account, named);
    return named;
  };
  for (const app of apps) {
    const { account, application } = await findApplication(accounts, app);
    at(account).applications.set(application.id, application);
  }
  for (const id of keyTransactions) {
    const { account, keyTransaction } = await findKeyTransaction(accounts, id);
    at(account).keyTransactions.set(id, keyTransaction);
  }
  return places;
}

async function findKeyTransaction(
  accounts: readonly LiveAccount[],
  id: number,
): Promise<{ readonly account: LiveAccount; readonly keyTransaction: KeyTransaction }> {
  const attempts = await Promise.allSettled(accounts.map(({ reader, call }) => reader.readKeyTransaction(id, call)));
  const failures: Error[] = [];
  for (const [index, account] of accounts.entries()) {
    const attempt = attempts[index];
    if (attempt?.status === 'fulfilled') return { account, keyTransaction: attempt.value };
    if (attempt === undefined || isNotFound(attempt.reason)) continue;
    const message = `account ${account.config.name}: key transaction ${id} cannot be read`;
    failures.push(new Error(message, { cause: attempt.reason }));
  }
  throw failures[0] ?? new Error(`no key transaction has the id ${id}: the command discover lists them`);
}

import type { AccountConfig } from '../config/config.ts';
import { endOfLife } from '../config/endOfLife.ts';

const DAY_MS = 86_400_000;

/**
 * Says how long the interface of an account still exists; undefined where no end is known.
 *
 * @param now Unix milliseconds
 */
export function describeInterfaceEnd(account: AccountConfig, now: number): string | undefined {
  const end = endOfLife(account);
  if (end === undefined) return undefined;
  const day = new Date(end * 1000).toISOString().slice(0, 10);
  const days = Math.floor((end * 1000 - now) / DAY_MS);
  const when = days < 0 ? `which the vendor ended on ${day}` : `which the vendor ends on ${day}, in ${days} days`;
  return `REST, ${when}: "api: nerdgraph" reads the same account`;
}

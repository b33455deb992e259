import type { AccountCollector } from './accountCollector.ts';
import type { AccountList } from './accountList.ts';
import { SharedConcurrency } from './limiter.ts';

const REQUEST_AGAIN_AFTER = 3_600_000;

/** All accounts share while the user of some key is not known yet: it may be the user of any other key. */
const UNKNOWN = 'unknown';

/**
 * Shares the concurrent calls that New Relic allows a user of NerdGraph among the accounts whose keys are of that user. If
 * there are several keys, the user of each key is requested once; a key with an unknown user shares only with accounts of the
 * same key.
 */
export class UserConcurrency {
  readonly #stopping = new AbortController();
  /**
   * By the mark of the key: the name under which its accounts share, and the time when its user may be requested again; while it
   * is requested, the account that does so.
   */
  readonly #users = new Map<
    string,
    { readonly by: string; readonly requestAt: number; readonly requestedBy?: AccountList | AccountCollector }
  >();
  #accounts: readonly (AccountList | AccountCollector)[] = [];
  #shared = new Map<string, SharedConcurrency>();

  share(accounts: readonly (AccountList | AccountCollector)[]): void {
    this.#accounts = accounts.filter(
      ({ context: { reader } }) => reader.api === 'nerdgraph' || reader.queries !== undefined,
    );
    // The request of an account that was removed may never end: another account of the key makes it again.
    for (const [keyMark, { requestedBy }] of this.#users) {
      if (requestedBy !== undefined && !accounts.includes(requestedBy)) this.#users.delete(keyMark);
    }
    const before = this.#shared;
    this.#shared = new Map();
    const users = this.#accounts.map(({ keyMark, context }) => {
      return this.#users.get(keyMark)?.by ?? (context.reader.user === undefined ? keyMark : UNKNOWN);
    });
    const isUnknown = users.includes(UNKNOWN);
    // Calls in flight hold slots that all accounts shared: the first known user takes these slots over, so that they still
    // count.
    let ofUnknown = isUnknown ? undefined : before.get(UNKNOWN);
    const moved = this.#accounts.filter(({ limiter, keyMark }, index) => {
      // A single key has no other key to share with, so its user does not matter.
      const by = this.#hasOneKey ? keyMark : isUnknown ? UNKNOWN : (users[index] ?? keyMark);
      const shared = this.#shared.get(by) ?? before.get(by) ?? ofUnknown ?? new SharedConcurrency();
      if (shared === ofUnknown) ofUnknown = undefined;
      this.#shared.set(by, shared);
      return limiter.share(shared);
    });
    if (moved.length === 0) return;
    // Calls start only after all accounts have moved: earlier, calls in flight of accounts that move later would not count.
    for (const { limiter } of moved) limiter.wake();
    for (const shared of before.values()) shared.offerTurns();
  }

  /** Requests the unknown users, in the background. `now` is in milliseconds of the monotonic clock. */
  learn(now: number): void {
    if (this.#hasOneKey) return;
    for (const account of this.#accounts) {
      const { keyMark, limiter, context } = account;
      const known = this.#users.get(keyMark);
      const { user } = context.reader;
      if (user === undefined || (known !== undefined && now < known.requestAt)) continue;
      this.#users.set(keyMark, { by: known?.by ?? UNKNOWN, requestAt: Infinity, requestedBy: account });
      void user({ signal: this.#stopping.signal, limiter }).then(
        (id) => this.#learned(keyMark, `user ${id}`, Infinity),
        () => this.#learned(keyMark, keyMark, now + REQUEST_AGAIN_AFTER),
      );
    }
  }

  stop(): void {
    this.#stopping.abort(new Error('the exporter stops'));
  }

  get #hasOneKey(): boolean {
    return new Set(this.#accounts.map(({ keyMark }) => keyMark)).size < 2;
  }

  #learned(keyMark: string, by: string, requestAt: number): void {
    this.#users.set(keyMark, { by, requestAt });
    this.share(this.#accounts);
  }
}

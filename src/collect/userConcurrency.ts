import type { AccountCollector } from './accountCollector.ts';
import type { Clock } from './clock.ts';
import { SharedConcurrency } from './limiter.ts';

/** A user that was not told is asked for again after this time, in milliseconds. */
const ASK_AGAIN_AFTER = 3_600_000;

/** What all accounts share by while the user of any key is asked for: it may be that of another key. */
const UNKNOWN = 'unknown';

/**
 * Shares the calls at once that New Relic allows a user of NerdGraph among the accounts whose keys are of that user. Each key
 * is asked for its user once, where there are several; a key whose user is not told shares with accounts of that key alone.
 */
export class UserConcurrency {
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  /** By the mark of the key: what its accounts share by, and when it may be asked again. */
  readonly #users = new Map<string, { readonly by: string; readonly askAt: number }>();
  #accounts: readonly AccountCollector[] = [];
  #shared = new Map<string, SharedConcurrency>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes over the accounts of now, with the keys of now. */
  share(accounts: readonly AccountCollector[]): void {
    this.#accounts = accounts.filter(
      ({ context: { reader } }) => reader.api === 'nerdgraph' || reader.queries !== undefined,
    );
    const before = this.#shared;
    this.#shared = new Map();
    const users = this.#accounts.map(({ keyMark, context }) => {
      return this.#users.get(keyMark)?.by ?? (context.reader.user === undefined ? keyMark : UNKNOWN);
    });
    const isUnknown = users.includes(UNKNOWN);
    // Calls in flight hold slots that all shared: the first user that is known takes these over, so that they still count.
    let ofUnknown = isUnknown ? undefined : before.get(UNKNOWN);
    for (const [index, { limiter, keyMark }] of this.#accounts.entries()) {
      // A single key has none to share with, whosever it is.
      const by = this.#hasOneKey ? keyMark : isUnknown ? UNKNOWN : (users[index] ?? keyMark);
      const shared = this.#shared.get(by) ?? before.get(by) ?? ofUnknown ?? new SharedConcurrency();
      if (shared === ofUnknown) ofUnknown = undefined;
      this.#shared.set(by, shared);
      limiter.share(shared);
    }
  }

  /** Asks for the users that are not known, in the background. */
  learn(): void {
    if (this.#hasOneKey) return;
    for (const { keyMark, limiter, context } of this.#accounts) {
      const known = this.#users.get(keyMark);
      const { user } = context.reader;
      if (user === undefined || (known !== undefined && this.#clock.monotonic() < known.askAt)) continue;
      this.#users.set(keyMark, { by: known?.by ?? UNKNOWN, askAt: Infinity });
      void user({ signal: this.#stopping.signal, limiter }).then(
        (id) => this.#learned(keyMark, `user ${id}`, Infinity),
        () => this.#learned(keyMark, keyMark, this.#clock.monotonic() + ASK_AGAIN_AFTER),
      );
    }
  }

  stop(): void {
    this.#stopping.abort(new Error('the exporter stops'));
  }

  get #hasOneKey(): boolean {
    return new Set(this.#accounts.map(({ keyMark }) => keyMark)).size < 2;
  }

  #learned(keyMark: string, by: string, askAt: number): void {
    this.#users.set(keyMark, { by, askAt });
    this.share(this.#accounts);
  }
}

import type { AccountListing, ListedAccount } from '../../api/upstreamReader.ts';
import { REMEDIES, UpstreamError, type FailureReason } from '../../api/upstreamError.ts';
import { counted } from '../../text/wording.ts';
import type { AccountContext } from '../inventory/accountContext.ts';
import { retryAt } from '../schedule/due.ts';
import type { AccountLimiter } from '../schedule/limiter.ts';

const NOTHING: AccountListing = { accounts: [], unreadable: 0, problem: undefined };

/**
 * The list of accounts that the key of an entry can see. A failed or suddenly empty list changes nothing. A partly
 * readable list only adds accounts. Two complete lists in a row must lack an account before it is removed.
 */
export class AccountList {
  context: AccountContext;
  keyMark: string;
  readonly limiter: AccountLimiter;
  /** Why New Relic refuses the key. Then only this list is read, and no account of the entry. */
  refused: string | undefined;
  /** Why the last attempt did not read the whole list. `since`: milliseconds of the monotonic clock. */
  problem: { readonly reason: FailureReason; readonly text: string; readonly since: number } | undefined;
  tried = false;
  hasExported = false;
  loggedWarnings: ReadonlySet<string> = new Set();
  /** Changes with every successful read. */
  version = 0;
  listed: number | undefined;
  unreadable = 0;
  /** Those of the last list, and those that only this list lacked. */
  #accounts: ReadonlyMap<number, ListedAccount & { readonly isMissing: boolean }> | undefined;
  /** Failed reads and refusals in a row. A success that ends a refusal does not reset the number. */
  #failures = 0;
  #dueAt = -Infinity;
  #reading: Promise<void> | undefined;
  /** When New Relic last answered with a list. Refusals of calls that started earlier do not count. */
  #acceptedAt = -Infinity;
  readonly #stopping = new AbortController();

  constructor(context: AccountContext, limiter: AccountLimiter) {
    this.context = context;
    this.limiter = limiter;
    this.keyMark = context.keyMark();
  }

  get entry(): string {
    return this.context.account.name;
  }

  get accounts(): readonly ListedAccount[] | undefined {
    return this.#accounts === undefined ? undefined : [...this.#accounts.values()];
  }

  /** Reads the list if it is due. Concurrent callers share one read. Never rejects. */
  read(): Promise<void> {
    this.checkKey();
    const now = this.context.clock.monotonic();
    if (this.#reading === undefined && now >= this.#dueAt) {
      this.#reading = this.#read(now).finally(() => (this.#reading = undefined));
    }
    return this.#reading ?? Promise.resolve();
  }

  /** Keeps the list even if the key has changed. */
  reconfigure(context: AccountContext): void {
    const { accounts: before } = this.context.collection.intervals;
    const { accounts: interval } = context.collection.intervals;
    this.context = context;
    this.limiter.reconfigure(context.account.limits);
    // A shorter interval makes the list due earlier.
    this.#dueAt = Math.min(this.#dueAt, Math.max(context.clock.monotonic(), this.#dueAt - before + interval));
    this.checkKey();
  }

  /** Records that New Relic refused the key in a call of an account of the entry; the call started at `startedAt`. */
  refuse(words: string, startedAt: number): void {
    if (startedAt < this.#acceptedAt || this.refused !== undefined) return;
    this.refused = words;
    this.#failures += 1;
    this.#dueAt = this.#retryAt();
    this.#logRefusal(words);
  }

  stop(): void {
    this.#stopping.abort(new Error('the exporter no longer reads this list'));
  }

  checkKey(): void {
    const keyMark = this.context.keyMark();
    if (keyMark === this.keyMark) return;
    this.keyMark = keyMark;
    this.refused = undefined;
    this.#failures = 0;
    this.#dueAt = -Infinity;
  }

  async #read(startedAt: number): Promise<void> {
    const { reader, clock, collection } = this.context;
    const { keyMark } = this;
    try {
      const listing = (await reader.listAccounts?.({ signal: this.#stopping.signal })) ?? NOTHING;
      this.#applyListing(listing);
      this.#acceptedAt = clock.monotonic();
      if (listing.problem !== undefined) {
        this.refused = undefined;
        throw new UpstreamError(listing.problem, { reason: 'invalid_response' });
      }
      const wasRefused = this.refused !== undefined;
      if (this.problem !== undefined || wasRefused) this.context.logger.info('The list of accounts works again');
      if (!wasRefused) this.#failures = 0;
      this.problem = undefined;
      this.refused = undefined;
      this.#dueAt = startedAt + collection.intervals.accounts;
    } catch (error) {
      if (this.#stopping.signal.aborted || keyMark !== this.keyMark) return;
      const reason = error instanceof UpstreamError ? error.failure.reason : 'other';
      const text = error instanceof Error ? error.message : String(error);
      if (reason === 'auth' && this.refused === undefined) this.#logRefusal(text);
      else if (reason !== this.problem?.reason) {
        const about = { reason, problem: text };
        this.context.logger.warn(about, 'Cannot read the list of accounts: keeping all accounts');
      }
      this.problem = { reason, text, since: this.problem?.since ?? clock.monotonic() };
      if (reason === 'auth') this.refused = text;
      this.#failures += 1;
      this.#dueAt = this.#retryAt();
    } finally {
      this.tried = true;
    }
  }

  #applyListing({ accounts: list, unreadable, problem }: AccountListing): void {
    const before = this.#accounts ?? new Map<number, ListedAccount & { readonly isMissing: boolean }>();
    if (list.length === 0 && before.size > 0) {
      throw new UpstreamError(`the key lists no account now, and listed ${counted(before.size, 'account')} before`, {
        reason: 'invalid_response',
      });
    }
    const isWhole = problem === undefined;
    const read = list.map((account) => [account.id, { ...account, isMissing: false }] as const);
    // A missing account may be an unreadable member, so a partly readable list removes and renames nothing.
    const accounts = new Map(isWhole ? read : [...read, ...before]);
    for (const [id, account] of before) {
      if (isWhole && !accounts.has(id) && !account.isMissing) accounts.set(id, { ...account, isMissing: true });
    }
    this.#accounts = accounts;
    this.listed = list.length + unreadable;
    this.unreadable = unreadable;
    this.version += 1;
  }

  #logRefusal(problem: string): void {
    this.context.logger.error(
      { problem },
      `New Relic refuses the key: ${REMEDIES.auth}; meanwhile the exporter reads only the list of accounts`,
    );
  }

  #retryAt(): number {
    const { clock, collection } = this.context;
    const now = clock.monotonic();
    return retryAt(this.#failures, { readableAt: now, readAt: now }, collection.intervals.accounts);
  }
}

import type { AccountListing, ListedAccount } from '../../api/upstreamReader.ts';
import { REMEDIES, UpstreamError, type FailureReason } from '../../api/upstreamError.ts';
import { counted } from '../../text/wording.ts';
import type { AccountContext } from '../inventory/accountContext.ts';
import { retryAt } from '../schedule/due.ts';
import type { AccountLimiter } from '../schedule/limiter.ts';

const NOTHING: AccountListing = { accounts: [], unreadable: 0, problem: undefined };

/**
 * The list of accounts that the key of an entry sees. It is read when it is due, with one call, and no account's budget pays for
 * it. A list that fails, or is suddenly empty, changes nothing; one that cannot be read whole only adds accounts. An account
 * goes when two good lists in a row lack it.
 */
export class AccountList {
  context: AccountContext;
  keyMark: string;
  readonly limiter: AccountLimiter;
  /** Why New Relic refuses the key: no account of the entry is read then, only this list. */
  refused: string | undefined;
  /**
   * Why the list could not be read last, or not whole; `since` is in milliseconds of the monotonic clock. Undefined before the first attempt,
   * and while the last one succeeded.
   */
  problem: { readonly reason: FailureReason; readonly text: string; readonly since: number } | undefined;
  tried = false;
  /** True once one of its accounts was exported. */
  hasExported = false;
  noticed: ReadonlySet<string> = new Set();
  /** Changes with every good list. */
  version = 0;
  listed: number | undefined;
  /** The members of the last list that cannot be read. */
  unreadable = 0;
  /** The accounts of the last good list, and accounts that only this list lacked. */
  #accounts: ReadonlyMap<number, ListedAccount & { readonly isMissing: boolean }> | undefined;
  /** Failures of the list, and refusals of its key, since two reads in a row succeeded. */
  #failures = 0;
  #dueAt = -Infinity;
  #reading: Promise<void> | undefined;
  /** The start of the last successful read: refusals of calls that began earlier change nothing. */
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

  /** Reads the list if it is due; callers that meet share the read. Never rejects. */
  read(): Promise<void> {
    this.noticeKey();
    const now = this.context.clock.monotonic();
    if (this.#reading === undefined && now >= this.#dueAt) {
      this.#reading = this.#read(now).finally(() => (this.#reading = undefined));
    }
    return this.#reading ?? Promise.resolve();
  }

  /** Takes over a changed configuration: the list stays, also when the key is another one. */
  reconfigure(context: AccountContext): void {
    const { accounts: before } = this.context.collection.intervals;
    const { accounts: interval } = context.collection.intervals;
    this.context = context;
    this.limiter.reconfigure(context.account.limits);
    // A shorter interval makes it due earlier.
    this.#dueAt = Math.min(this.#dueAt, Math.max(context.clock.monotonic(), this.#dueAt - before + interval));
    this.noticeKey();
  }

  /** Records that New Relic refuses the key for an account of the entry, by a call that began at `startedAt`. */
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

  noticeKey(): void {
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
      this.#take(listing);
      this.#acceptedAt = clock.monotonic();
      if (listing.problem !== undefined) {
        this.refused = undefined;
        throw new UpstreamError(listing.problem, { reason: 'invalid_response' });
      }
      const wasRefused = this.refused !== undefined;
      if (this.problem !== undefined || wasRefused) this.context.logger.info('The list of accounts is read again');
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
        this.context.logger.warn(about, 'The list of accounts could not be read: no account goes');
      }
      this.problem = { reason, text, since: this.problem?.since ?? clock.monotonic() };
      if (reason === 'auth') this.refused = text;
      this.#failures += 1;
      this.#dueAt = this.#retryAt();
    } finally {
      this.tried = true;
    }
  }

  #take({ accounts: list, unreadable, problem }: AccountListing): void {
    const before = this.#accounts ?? new Map<number, ListedAccount & { readonly isMissing: boolean }>();
    if (list.length === 0 && before.size > 0) {
      throw new UpstreamError(`the key lists no account now, and listed ${counted(before.size, 'account')} before`, {
        reason: 'invalid_response',
      });
    }
    const isWhole = problem === undefined;
    const read = list.map((account) => [account.id, { ...account, isMissing: false }] as const);
    // A missing account may be one of the unreadable members, so such a list removes and renames nothing.
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
      `The key is refused: ${REMEDIES.auth}; meanwhile no account of the entry is read, only its list of accounts is tried`,
    );
  }

  #retryAt(): number {
    const { clock, collection } = this.context;
    const now = clock.monotonic();
    return retryAt(this.#failures, { readableAt: now, readAt: now }, collection.intervals.accounts);
  }
}

import type { SplitReason } from '../reader.ts';
import type { FailureReason, UpstreamError } from '../types.ts';

/** What became of one query for a batch. */
export type QueryEnd =
  /** `truncated`: rows are missing, or the query is too big. `unmatched`: nothing of it has data, if it is for one subject. */
  | { readonly kind: 'answered' | 'truncated' | 'unmatched' }
  | { readonly kind: 'failed'; readonly error: UpstreamError; readonly isSaidToPass: boolean };

/** Failures that one subject of a batch may be the cause of; the others are the account's, or the address's. */
const BLAMABLE: Partial<Record<FailureReason, SplitReason>> = {
  timeout: 'timeout',
  network: 'error',
  server: 'error',
  invalid_response: 'error',
  other: 'error',
  forbidden: 'error',
  too_large: 'truncated',
};

/** So many subjects that no part of can be read, before anything else was read, and of the others little is tried. */
const MOST_LOST = 3;

/**
 * Reads a batch, and what fails or does not fit into an answer again in halves, down to single subjects, so that no healthy
 * subject fails because of another (docs/nerdgraph.md, "Batches").
 *
 * A batch that fails is divided only when the service answers at all, so one of its subjects is asked first, and another
 * one where that fails: with the batch itself that makes three calls in a row, after which an account counts as silent.
 */
export abstract class HalvingRead<B> {
  /** Whether any part was answered: then what fails is the fault of what it asks for. */
  #answered = false;
  /** Whether any part was read: an answer with rows missing is not used. */
  #isAnyRead = false;
  /** Subjects that were divided as far as it goes, and could not be read. */
  #lost = 0;
  /** Parts of one subject that failed. */
  readonly #failed: B[] = [];

  /** Makes one query. @param isFirst false: it is a part of what failed, so it is not tried again */
  protected abstract query(batch: B, isFirst: boolean): Promise<QueryEnd>;
  /** Two halves; undefined where it cannot be divided, for this reason. */
  protected abstract halve(batch: B, reason: SplitReason): readonly [B, B] | undefined;
  /** One subject, the first or the last, and the others; undefined where there is only one. */
  protected abstract takeOne(batch: B, last: boolean): readonly [one: B, others: B] | undefined;
  /** Whether its subjects, if it has several, belong to one application, which may be the one to blame. */
  protected abstract isOneApplication(batch: B): boolean;
  /** Notes a failure of each of its subjects; undefined: more rows than an answer holds, however it is divided. */
  protected abstract fail(batch: B, error: UpstreamError | undefined): void;
  /** Notes that the one subject of it has no data. */
  protected abstract unmatched(batch: B): void;
  /** Whether the account answers nothing at the moment. */
  protected abstract isSilent(): boolean;
  /** Whether the service said at the last refresh, too, that it failed to answer this for a moment; notes that it did now. */
  protected abstract isStrained(batch: B): boolean;
  protected abstract split(reason: SplitReason): void;

  /** Gives the parts of one subject that failed while others were answered: they are to blame. */
  async run(batch: B): Promise<{ readonly blamed: readonly B[]; readonly isAnswered: boolean }> {
    if (!this.isSilent() || this.takeOne(batch, false) === undefined) await this.#read(batch, true);
    else await this.#readFromOne(batch, undefined);
    return { blamed: this.#answered ? this.#failed : [], isAnswered: this.#answered };
  }

  /** Gives whether all of it was read. */
  async #read(batch: B, isFirst: boolean): Promise<boolean> {
    if (!this.#isAnyRead && this.#lost >= MOST_LOST) return this.#readFromLast(batch);
    const end = await this.query(batch, isFirst);
    if (end.kind !== 'failed') this.#answered = true;
    if (end.kind === 'answered' || end.kind === 'unmatched') this.#isAnyRead = true;
    switch (end.kind) {
      case 'answered':
        return true;
      case 'truncated':
        return this.#readHalves(batch, 'truncated', undefined);
      case 'unmatched':
        return this.#readUnmatched(batch);
      case 'failed':
        return this.#readFailed(batch, end.error, isFirst && end.isSaidToPass);
    }
  }

  /** Nothing was read so far: of what is left only the last subject is asked for, and the others once that one is read. */
  async #readFromLast(batch: B): Promise<boolean> {
    const [one, others] = this.takeOne(batch, true) ?? [batch, undefined];
    const end = await this.query(one, false);
    if (end.kind === 'answered' || end.kind === 'unmatched') {
      this.#isAnyRead = true;
      if (end.kind === 'unmatched') this.unmatched(one);
      return others === undefined || this.#read(others, false);
    }
    this.fail(batch, end.kind === 'failed' ? end.error : undefined);
    return false;
  }

  async #readUnmatched(batch: B): Promise<boolean> {
    const halves = this.takeOne(batch, false) === undefined ? undefined : this.halve(batch, 'error');
    if (halves !== undefined) return this.#readBoth(halves, 'error', false);
    this.unmatched(batch);
    return true;
  }

  /** @param isSaidToPass whether the service says that it failed for a moment, which it may have */
  async #readFailed(batch: B, error: UpstreamError, isSaidToPass: boolean): Promise<boolean> {
    const reason = BLAMABLE[error.failure.reason];
    if (this.takeOne(batch, false) === undefined) {
      this.#failed.push(batch);
      if (reason === 'truncated') return this.#readHalves(batch, reason, error);
      this.fail(batch, error);
      return false;
    }
    const mayPass = isSaidToPass && !this.isStrained(batch);
    if (reason !== undefined && !mayPass && (this.#answered || !this.isSilent())) {
      const isKnown = this.#answered && !this.isOneApplication(batch);
      return isKnown || reason === 'truncated'
        ? this.#readHalves(batch, reason, error)
        : this.#readFromOne(batch, { error, reason });
    }
    this.fail(batch, error);
    return false;
  }

  /**
   * Asks for one subject, and for another where that fails. Only once one was answered, the others are read.
   *
   * @param failed why the whole failed; undefined: it was not asked for, because the account was silent
   */
  async #readFromOne(
    batch: B,
    failed: { readonly error: UpstreamError; readonly reason: SplitReason } | undefined,
  ): Promise<boolean> {
    let others = batch;
    const tried: B[] = [];
    let lastError: UpstreamError | undefined = failed?.error;
    if (failed !== undefined) this.split(failed.reason);
    for (const last of [false, true]) {
      if (last && !this.#answered && this.isSilent()) break;
      const taken = this.takeOne(others, last);
      // Of two, the other one is all that is left.
      const one = taken?.[0] ?? others;
      const end = await this.query(one, false);
      if (end.kind === 'failed') {
        lastError = end.error;
        tried.push(one);
        this.fail(one, end.error);
        if (taken === undefined) break;
        others = taken[1];
        continue;
      }
      this.#answered = true;
      if (end.kind !== 'truncated') this.#isAnyRead = true;
      this.#failed.push(...tried);
      const isRead = end.kind === 'answered' || (await this.#readEnded(one, end.kind));
      if (taken === undefined) return isRead && tried.length === 0;
      const rest =
        failed === undefined ? this.#read(taken[1], false) : this.#readHalves(taken[1], failed.reason, failed.error);
      return (await rest) && isRead;
    }
    this.#failed.push(...(this.isOneApplication(batch) ? [batch] : tried));
    this.fail(others, lastError);
    return false;
  }

  #readEnded(batch: B, kind: 'truncated' | 'unmatched'): Promise<boolean> {
    return kind === 'truncated' ? this.#readHalves(batch, kind, undefined) : this.#readUnmatched(batch);
  }

  /** @param error why the whole failed; undefined: it has more rows than an answer holds */
  async #readHalves(batch: B, reason: SplitReason, error: UpstreamError | undefined): Promise<boolean> {
    const halves = this.halve(batch, reason);
    if (halves !== undefined) return this.#readBoth(halves, reason, this.takeOne(batch, false) === undefined);
    // One subject is left of what failed: it has not been asked for alone yet.
    if (error !== undefined && reason !== 'truncated') return this.#read(batch, false);
    this.#failed.push(batch);
    this.#lost += 1;
    this.fail(batch, error);
    return false;
  }

  /**
   * Halves of one subject are read in turn: it fails when either does. Halves of a batch too until something was read, so that
   * little is asked where nothing can be.
   */
  async #readBoth([first, second]: readonly [B, B], reason: SplitReason, isOneSubject: boolean): Promise<boolean> {
    this.split(reason);
    if (isOneSubject) return (await this.#read(first, false)) && (await this.#read(second, false));
    if (!this.#isAnyRead) return [await this.#read(first, false), await this.#read(second, false)].every(Boolean);
    const read = await Promise.all([this.#read(first, false), this.#read(second, false)]);
    return read.every(Boolean);
  }
}

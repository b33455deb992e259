import type { ApiKey } from './apiKey.ts';
import { CallFailure } from './callFailure.ts';
import { UpstreamError } from '../errors.ts';
import type { CallObserver, SplitReason } from '../observer.ts';

const NOTED_EVERY_MS = 3_600_000;
const LONGEST_NOTE = 500;

/** Tells the observer of an account what went wrong, in words that carry no key. */
export class Reports {
  readonly #observer: CallObserver;
  readonly #key: ApiKey;
  readonly #monotonic: () => number;
  /** By endpoint: when the service's words were last passed on. */
  readonly #noted = new Map<string, number>();

  /** @param monotonic milliseconds of a clock that is never set */
  constructor(observer: CallObserver, key: ApiKey, monotonic: () => number) {
    this.#observer = observer;
    this.#key = key;
    this.#monotonic = monotonic;
  }

  /** Reports a failure, and gives it as the error that callers see. */
  fail(endpoint: string, failure: CallFailure): UpstreamError {
    const message = this.#report(endpoint, failure);
    const { reason, status } = failure;
    return new UpstreamError(message, { reason, endpoint, status });
  }

  /** Reports that a part of an answer was left out. */
  leftOut(endpoint: string, words: string): void {
    this.#report(endpoint, new CallFailure('invalid_response', words));
  }

  /** Reports that a call for many subjects is read again in parts. */
  split(reason: SplitReason): void {
    this.#observer.split(reason);
  }

  /** Reports what the service says about a good answer, at most once an hour of each endpoint. */
  noted(endpoint: string, words: string): void {
    const now = this.#monotonic();
    if (now - (this.#noted.get(endpoint) ?? -Infinity) < NOTED_EVERY_MS) return;
    this.#noted.set(endpoint, now);
    // The key is hidden before the text is cut, which could leave half of it.
    this.#observer.noted(endpoint, this.#key.hide(words).slice(0, LONGEST_NOTE));
  }

  /** The key is hidden once more, wherever the words came from. */
  #report(endpoint: string, { reason, message }: CallFailure): string {
    const text = this.#key.hide(`${endpoint.startsWith('/') ? 'GET ' : ''}${endpoint}: ${message}`);
    this.#observer.failed(endpoint, reason, text);
    return text;
  }
}

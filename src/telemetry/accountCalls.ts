import { FAILURE_REASONS, type FailureReason } from '../api/types.ts';
import { SPLIT_REASONS, type CallObserver, type SplitReason } from '../api/reader.ts';
import { Counter, Gauge, Histogram, Registry } from '../exposition/promClient.ts';
import { EXPORTER } from '../metrics/catalogueExporter.ts';

/** Seconds: from an answer next door to well beyond the default `request_timeout`. */
const DURATION_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];

/**
 * Counts the calls of one account. Each account has a registry of its own, so that its series end with it.
 * Series that are sure to come begin at 0: `increase()` would miss the first event of a series that begins at 1.
 */
export class AccountCalls implements CallObserver {
  readonly registry = new Registry();
  readonly #account: string;
  readonly #requests: Counter;
  readonly #durations: Histogram;
  readonly #failures: Counter;
  readonly #retries: Counter;
  readonly #inFlight: Gauge;
  readonly #splits: Counter;
  readonly #endpoints = new Set<string>();

  constructor(account: string) {
    const registers = [this.registry];
    this.#account = account;
    this.#requests = new Counter({ ...EXPORTER.apiRequests, registers });
    this.#durations = new Histogram({ ...EXPORTER.apiRequestDuration, registers, buckets: DURATION_BUCKETS });
    this.#failures = new Counter({ ...EXPORTER.apiFailures, registers });
    this.#retries = new Counter({ ...EXPORTER.apiRetries, registers });
    this.#inFlight = new Gauge({ ...EXPORTER.apiInFlight, registers });
    this.#splits = new Counter({ ...EXPORTER.apiBatchesSplit, registers });
    this.#retries.inc({ account }, 0);
    this.#inFlight.set({ account }, 0);
  }

  started(endpoint: string): void {
    this.#know(endpoint);
    this.#inFlight.inc({ account: this.#account });
  }

  ended(endpoint: string, code: number | 'error', seconds: number): void {
    this.#inFlight.dec({ account: this.#account });
    this.#requests.inc({ account: this.#account, endpoint, code: String(code) });
    this.#durations.observe({ account: this.#account, endpoint }, seconds);
  }

  failed(endpoint: string, reason: FailureReason): void {
    this.#know(endpoint);
    this.#failures.inc({ account: this.#account, endpoint, reason });
  }

  retried(): void {
    this.#retries.inc({ account: this.#account });
  }

  split(reason: SplitReason): void {
    this.#splits.inc({ account: this.#account, reason });
  }

  /** Counts nothing: what the service says goes to the log. */
  noted(): void {
    return;
  }

  /** Begins the counters of splits: the account is read by calls for several entities, which may be split. */
  expectSplits(): void {
    for (const reason of SPLIT_REASONS) this.#splits.inc({ account: this.#account, reason }, 0);
  }

  #know(endpoint: string): void {
    if (this.#endpoints.has(endpoint)) return;
    this.#endpoints.add(endpoint);
    for (const reason of FAILURE_REASONS) this.#failures.inc({ account: this.#account, endpoint, reason }, 0);
  }
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Secrets } from '../../log/secrets.ts';
import type { AccountHealth } from '../accountHealth.ts';
import { backoff } from '../backoff.ts';
import { UpstreamError, CallFailure, type Overload } from '../upstreamError.ts';
import type { CallObserver, CallOptions, RateLimiter } from '../upstreamReader.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import {
  decodeText,
  findOverload,
  parseResponse,
  readRefusal,
  type ResponsePolicy,
  type JsonResponse,
  type ReceivedResponse,
} from './response.ts';
import { createDispatcher, type DispatcherOptions } from './upstreamConnections.ts';
import { exchange, firstHeader, resolve, toUrl, type Address, type Request } from './exchange.ts';
import { Discarded } from './validation.ts';

const FIRST_CEILING_MS = 500;
const HIGHEST_CEILING_MS = 8_000;

/** Returns milliseconds with full jitter, so that calls that fail together do not retry together. */
export function retryDelay(attempt: number, random: () => number): number {
  return Math.floor(random() * backoff(attempt + 1, FIRST_CEILING_MS, HIGHEST_CEILING_MS));
}

const REPORT_INTERVAL_MS = 3_600_000;
const LONGEST_MESSAGE = 500;
/** Overloads after which a patient caller repeats one call. These repeats do not count as retries. */
const MAX_OVERLOADS = 20;

/** While more responses than this wait for parsing, a new response keeps its place: each text may have megabytes. */
const MAX_UNPARSED = 2;

export interface ClientOptions extends DispatcherOptions {
  readonly keyHeader: string;
  /** Returns the key. The client calls it before each attempt, because key files change. */
  readonly key: () => string;
  /** The keys of all accounts, which messages must not show. */
  readonly secrets: Secrets;
  readonly userAgent: string;
  readonly maxRetries: number;
  readonly observer: CallObserver;
  readonly limiter: RateLimiter;
  readonly health: AccountHealth;
  /** Returns Unix milliseconds of the wall clock, for comparison with times in headers. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly random: () => number;
  /** Rejects as soon as the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Makes calls. Each attempt waits for the limiter. The wait before a retry holds no place. */
export class Client {
  readonly #dispatcher: Dispatcher;
  readonly #options: ClientOptions;
  /** The HTTPS origin to which New Relic redirected an earlier plain HTTP call. */
  #upgraded: string | undefined;
  #unparsed = 0;
  readonly #reportTimes = new Map<string, number>();

  /** @throws Error for an unusable proxy address */
  constructor(options: ClientOptions) {
    this.#dispatcher = createDispatcher(options);
    this.#options = options;
  }

  /** Closes all connections, and aborts calls in flight. */
  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  /** True while the account fails. Always false for patient callers. */
  isFailing({ patient }: CallOptions): boolean {
    return patient !== true && this.#options.health.isFailing;
  }

  /** Reports a failure, and returns the error for callers. */
  reportFailure(endpoint: string, failure: CallFailure): UpstreamError {
    const { reason, circumstances } = failure;
    const { status, isAnswer, code } = circumstances;
    // The log line names the reason, so that it leads to the series of the metric.
    const message = this.#report(endpoint, failure, ` (reason ${reason})`);
    return new UpstreamError(message, { reason, status, isAnswer, code });
  }

  /** Reads a response with `read`. Reports the parts that `read` leaves out, or its CallFailure. */
  async parseReporting<T>(endpoint: string, read: (discarded: Discarded) => T | Promise<T>): Promise<T> {
    const discarded = new Discarded();
    try {
      return await read(discarded);
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      // New Relic answered, even if the answer is unreadable.
      const circumstances = { ...error.circumstances, isAnswer: true };
      throw this.reportFailure(endpoint, new CallFailure(error.reason, error.message, circumstances));
    } finally {
      for (const { reason, words } of discarded.summaries()) {
        const message = this.#report(endpoint, new CallFailure(reason, words));
        if (this.#isReportDue(`${endpoint} ${reason}`)) this.#options.observer.leftOut(endpoint, reason, message);
      }
    }
  }

  /** Reports New Relic's message about a good response, at most once an hour for each endpoint. */
  serviceMessage(endpoint: string, summary: string): void {
    if (!this.#isReportDue(endpoint)) return;
    // Mask the key before cutting: the cut could leave half of the key.
    this.#options.observer.serviceMessage(endpoint, this.#options.secrets.mask(summary).slice(0, LONGEST_MESSAGE));
  }

  #isReportDue(subject: string): boolean {
    const now = this.#options.monotonic();
    if (now - (this.#reportTimes.get(subject) ?? -Infinity) < REPORT_INTERVAL_MS) return false;
    this.#reportTimes.set(subject, now);
    return true;
  }

  /** Reports a message to the observer. Masks keys once more, because the message can have any source. */
  #report(endpoint: string, { reason, message }: CallFailure, suffix = ''): string {
    const method = endpoint.startsWith('/') ? 'GET ' : '';
    const text = this.#options.secrets.mask(`${method}${endpoint}: ${message}${suffix}`);
    this.#options.observer.failed(endpoint, reason, text);
    return text;
  }

  /** Makes a call with its retries. Rejects with an UpstreamError, or with the reason of the signal. */
  async call(endpoint: string, request: Request, policy: ResponsePolicy, call: CallOptions): Promise<JsonResponse> {
    const { maxRetries, observer, random, sleep, health } = this.#options;
    let failures = 0;
    let overloads = 0;
    for (;;) {
      const result = await this.#attempt(endpoint, request, policy, call);
      if (!(result instanceof CallFailure)) {
        health.recordAnswer();
        return result;
      }
      const failed = this.reportFailure(endpoint, result);
      if (result.circumstances.isAnswer === true) health.recordAnswer();
      let delay = 0;
      if (result.circumstances.overload === undefined) {
        const mayRetry = allowsRetry(result, policy, call) && failures < maxRetries;
        if (!mayRetry || this.isFailing(call)) throw failed;
        delay = retryDelay(failures, random);
        failures += 1;
      } else {
        // The limiter admits the next attempt only after the pause.
        const { isLasting } = result.circumstances;
        if (call.patient !== true || isLasting === true || overloads >= MAX_OVERLOADS) throw failed;
        overloads += 1;
      }
      await sleep(delay, call.signal);
      // Other reads may have made the account fail during the wait.
      if (this.isFailing(call)) throw failed;
      observer.retried(endpoint, result.reason, delay);
    }
  }

  async #attempt(
    endpoint: string,
    request: Request,
    policy: ResponsePolicy,
    call: CallOptions,
  ): Promise<JsonResponse | CallFailure> {
    try {
      const target = this.#upgraded === undefined ? request : { ...request, origin: this.#upgraded };
      const first = await this.#send(endpoint, target, policy, call);
      if (!('redirectedTo' in first)) return await first.response;
      const second = await this.#send(endpoint, { ...request, origin: first.redirectedTo }, policy, call);
      if ('redirectedTo' in second) return new CallFailure('redirect', 'the HTTPS address redirects again');
      const response = await second.response;
      this.#upgraded = first.redirectedTo;
      return response;
    } catch (error) {
      if (error instanceof CallFailure) return error;
      throw error;
    }
  }

  /** Makes one call of the budget. Returns a redirect, or the parsed response. */
  async #send(
    endpoint: string,
    request: Request,
    policy: ResponsePolicy,
    call: CallOptions,
  ): Promise<{ readonly redirectedTo: string } | { readonly response: Promise<JsonResponse> }> {
    const release = await this.#options.limiter.acquire(call.signal, call.isRepeat);
    let isGood = true;
    let overload: Overload | undefined;
    let refused = false;
    let parsing: Promise<unknown> | undefined;
    try {
      const received = await this.#exchange(endpoint, request, policy.bounds.bytes, call.signal);
      const { status, headers, receivedAt } = received;
      if (status >= 300) {
        const redirectedTo = findHttpsUpgrade(request, status, firstHeader(headers, 'location'));
        if (redirectedTo !== undefined) return { redirectedTo };
        overload = findOverload(status, headers, receivedAt);
        throw await readRefusal(received, policy, overload);
      }
      const { mayBeOverload } = policy;
      if (mayBeOverload === undefined) return { response: readLater(received, policy) };
      const text = await decodeText(received, policy.bounds.bytes);
      if (mayBeOverload(text)) return { response: Promise.resolve(parseResponse(received, text, policy)) };
      const response = this.#parseLater(received, text, policy);
      if (this.#unparsed > MAX_UNPARSED) parsing = response;
      return { response };
    } catch (error) {
      isGood = false;
      if (error instanceof CallFailure) {
        overload ??= error.circumstances.overload;
        refused = error.reason === 'auth' || error.reason === 'forbidden';
      }
      throw error;
    } finally {
      // A refusal may make the caller stop all calls, so the caller sees it before the place is free.
      if (refused) setImmediate(() => release(isGood, overload));
      else if (parsing === undefined) release(isGood, overload);
      // Further calls would only add texts to the memory before this response is parsed.
      else void Promise.allSettled([parsing]).then(() => release(isGood, overload));
    }
  }

  async #parseLater(received: ReceivedResponse, text: string, policy: ResponsePolicy): Promise<JsonResponse> {
    this.#unparsed += 1;
    try {
      return await readLater(received, policy, text);
    } finally {
      this.#unparsed -= 1;
    }
  }

  async #exchange(
    endpoint: string,
    request: Request,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<ReceivedResponse> {
    const { observer, now, monotonic, userAgent, keyHeader, requestTimeoutMs: timeoutMs } = this.#options;
    const key = this.#currentKey();
    const started = monotonic();
    let code: number | undefined;
    observer.started(endpoint);
    try {
      const headers: Record<string, string> = {
        accept: 'application/json',
        'accept-encoding': 'gzip',
        'user-agent': userAgent,
        [request.keyHeader ?? keyHeader]: key,
      };
      if (request.body !== undefined) headers['content-type'] = 'application/json';
      const raw = await exchange(this.#dispatcher, request, headers, { timeoutMs, maxBytes }, signal);
      code = raw.status;
      return Object.assign(raw, { address: request, receivedAt: now() });
    } catch (error) {
      if (error instanceof CallFailure) code = error.circumstances.status;
      throw error;
    } finally {
      observer.ended(endpoint, code ?? 'error', (monotonic() - started) / 1000);
    }
  }

  /** Returns the API key, and masks it from now on. Throws a CallFailure for an unreadable or invalid key. */
  #currentKey(): string {
    let key: string;
    try {
      key = this.#options.key();
    } catch {
      throw new CallFailure('auth', 'the API key cannot be read');
    }
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new CallFailure('auth', 'the API key is empty or holds characters that no key has');
    }
    this.#options.secrets.add(key);
    return key;
  }
}

/** Decodes and parses a response in a later turn of the event loop, so that the next calls start first. */
async function readLater(received: ReceivedResponse, policy: ResponsePolicy, decoded?: string): Promise<JsonResponse> {
  await nextTurn();
  const text = decoded ?? (await decodeText(received, policy.bounds.bytes));
  // Each turn parses one long response, because parsing cannot be divided.
  await inSlices([text]);
  return parseResponse(received, text, policy);
}

function allowsRetry({ reason, circumstances }: CallFailure, { retries }: ResponsePolicy, call: CallOptions): boolean {
  if (retries === 'none' || circumstances.retriable !== true) return false;
  return retries === 'all' || reason !== 'timeout' || call.patient === true;
}

/**
 * Returns the HTTPS origin for a plain HTTP call that New Relic redirects with 301 ("301 response for REST API calls");
 * undefined for another host, which may not get the key. Ignores the scheme: the published example has `http`.
 */
export function findHttpsUpgrade(address: Address, status: number, location: string | undefined): string | undefined {
  if (status !== 301 || !address.origin.startsWith('http:')) return undefined;
  const requested = toUrl(address);
  const target = resolve(location, requested);
  if (target?.hostname !== requested.hostname || !['http:', 'https:'].includes(target.protocol)) return undefined;
  target.protocol = 'https:';
  return target.origin;
}

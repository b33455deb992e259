import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { moved } from './address.ts';
import { parseBody } from './answerBody.ts';
import { CallFailure } from './callFailure.ts';
import { decodeText } from './decode.ts';
import { UpstreamError } from '../errors.ts';
import { errorTitle } from './errorTitle.ts';
import { exchange } from './exchange.ts';
import type { RawAnswer } from './exchange.ts';
import { firstHeader, joinedHeader } from './headers.ts';
import { httpsUpgrade } from './httpsUpgrade.ts';
import { KeyMask } from './keyMask.ts';
import type { CallObserver } from '../observer.ts';
import { overloadOf } from './overload.ts';
import type { CallOptions, Overload } from '../reader.ts';
import { retryDelay } from './retry.ts';
import { isGood, statusFailure } from './statusFailure.ts';

/** Of an error body, unpacked. */
const LONGEST_ERROR = 64 * 1024;

export interface ClientOptions {
  readonly keyHeader: string;
  /** Asked before each attempt, because key files change. */
  readonly key: () => string;
  readonly userAgent: string;
  /** From sending to the last byte of the body, of each attempt. */
  readonly requestTimeoutMs: number;
  readonly maxRetries: number;
  /** Of a body, as sent and as unpacked. */
  readonly maxBytes: number;
  readonly observer: CallObserver;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly random: () => number;
  /** Rejects at once when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A good answer: its JSON object, the address that gave it, and its `Link` header. */
export interface Answer {
  readonly body: Readonly<Record<string, unknown>>;
  readonly address: URL;
  readonly link: string | undefined;
}

interface Sent {
  readonly raw: RawAnswer;
  readonly overload: Overload | undefined;
  /** Hides the key that was sent. */
  readonly mask: KeyMask;
}

/**
 * Makes calls. Each attempt passes the gate first; failures that may pass are tried again after a wait, during which no
 * place is held (contract 4, point 8).
 */
export class Client {
  readonly #dispatcher: Dispatcher;
  readonly #options: ClientOptions;
  #mask = new KeyMask('');
  /** The HTTPS origin that once answered in place of a plain one. */
  #upgraded: string | undefined;

  constructor(dispatcher: Dispatcher, options: ClientOptions) {
    this.#dispatcher = dispatcher;
    this.#options = options;
  }

  /** Rejects with an UpstreamError after the last attempt, or with the reason of the signal. */
  async get(endpoint: string, address: URL, call: CallOptions): Promise<Answer> {
    for (let attempt = 0; ; attempt += 1) {
      const result = await this.#attempt(endpoint, address, call);
      if (!(result instanceof CallFailure)) return result;
      const failed = this.fail(endpoint, result);
      if (!result.retriable || attempt >= this.#options.maxRetries) throw failed;
      const delay = retryDelay(attempt, this.#options.random);
      this.#options.observer.retried(endpoint, result.reason, delay);
      await this.#options.sleep(delay, call.signal);
    }
  }

  /** Reports a failure, and gives it as the error that callers see. */
  fail(endpoint: string, failure: CallFailure): UpstreamError {
    const message = this.#report(endpoint, failure);
    const { reason, status, overload } = failure;
    const details = overload === undefined ? {} : { overload: true, retryAt: overload.retryAt };
    return new UpstreamError(message, { reason, endpoint, status, ...details });
  }

  /** Reports that a part of an answer was left out. */
  leftOut(endpoint: string, words: string): void {
    this.#report(endpoint, new CallFailure('invalid_response', words));
  }

  /** The key is hidden once more, wherever the words came from. */
  #report(endpoint: string, { reason, message }: CallFailure): string {
    const text = this.#mask.hide(`GET ${endpoint}: ${message}`);
    this.#options.observer.failed(endpoint, reason, text);
    return text;
  }

  async #attempt(endpoint: string, address: URL, call: CallOptions): Promise<Answer | CallFailure> {
    try {
      const asked = this.#upgraded === undefined ? address : moved(address, this.#upgraded);
      const sent = await this.#send(endpoint, asked, call);
      const secureOrigin = httpsUpgrade(asked, sent.raw.status, firstHeader(sent.raw.headers, 'location'));
      if (secureOrigin === undefined) return await this.#read(asked, sent);
      const secure = moved(asked, secureOrigin);
      const answer = await this.#read(secure, await this.#send(endpoint, secure, call));
      this.#upgraded = secureOrigin;
      return answer;
    } catch (error) {
      if (error instanceof CallFailure) return error;
      throw error;
    }
  }

  /** One call of the budget, from the gate to the last byte. */
  async #send(endpoint: string, address: URL, call: CallOptions): Promise<Sent> {
    const { observer, now, requestTimeoutMs: timeoutMs, maxBytes } = this.#options;
    const release = await call.gate.enter(call.signal);
    let overload: Overload | undefined;
    try {
      const mask = this.#currentKey();
      const headers = this.#headers(mask.key);
      const started = now();
      let code: number | undefined;
      observer.started(endpoint);
      try {
        const options = { timeoutMs, maxBytes, signal: call.signal };
        const raw = await exchange(this.#dispatcher, { address, headers }, options);
        code = raw.status;
        overload = overloadOf(code, raw.headers, now());
        return { raw, overload, mask };
      } catch (error) {
        if (error instanceof CallFailure) code = error.status;
        throw error;
      } finally {
        observer.ended(endpoint, code ?? 'error', Math.max(0, now() - started) / 1000);
      }
    } finally {
      release(overload);
    }
  }

  async #read(address: URL, { raw, overload, mask }: Sent): Promise<Answer> {
    // First the next calls go out for all answers that came in together.
    await nextTurn();
    if (!isGood(raw.status)) {
      const text = await decodeText(raw, LONGEST_ERROR).catch(() => '');
      throw statusFailure(address, raw, errorTitle(text, mask), overload);
    }
    const text = await decodeText(raw, this.#options.maxBytes);
    return { body: parseBody(text, raw.status, mask), address, link: joinedHeader(raw.headers, 'link') };
  }

  #currentKey(): KeyMask {
    const key = readKey(this.#options.key);
    if (key !== this.#mask.key) this.#mask = new KeyMask(key);
    return this.#mask;
  }

  #headers(key: string): Record<string, string> {
    return {
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': this.#options.userAgent,
      [this.#options.keyHeader]: key,
    };
  }
}

function readKey(read: () => string): string {
  let key: string;
  try {
    key = read();
  } catch {
    throw new CallFailure('auth', 'the API key cannot be read');
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new CallFailure('auth', 'the API key is empty or holds characters that no key has');
}

import type { Dispatcher } from 'undici';
import { abortReason, type Address, type ResponseHeaders } from './address.ts';
import { CallFailure } from './callFailure.ts';
import { networkFailure } from './networkFailure.ts';

/** Limits for an error body, in bytes and in milliseconds after its headers: only its title is shown. */
const ERROR_BODY_BYTES = 8_192;
const ERROR_BODY_MS = 1_000;

export interface RawResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The encoded body; incomplete where the status is not 2xx and the body is long, slow or broken. Empty once it was read. */
  body: Buffer;
}

/** A request: a GET, or with a body a POST of JSON. */
export interface Request extends Address {
  readonly body?: string | undefined;
  /** Name of the key's header, where it differs from that of the account. */
  readonly keyHeader?: string | undefined;
}

/**
 * The exchanges under way: one listener for each signal. In arrays, because the tables that a Set has outgrown keep all
 * exchanges in memory until a full garbage collection.
 */
const underWay = new WeakMap<AbortSignal, ResponseHandler[]>();

function underWayOf(signal: AbortSignal): ResponseHandler[] {
  const known = underWay.get(signal);
  if (known !== undefined) return known;
  const handlers: ResponseHandler[] = [];
  underWay.set(signal, handlers);
  signal.addEventListener('abort', () => {
    for (const handler of [...handlers]) handler.abort(abortReason(signal));
  });
  return handlers;
}

/**
 * Sends one request and reads its whole response, without a stream, which would cost more than all other work. Rejects with a
 * CallFailure, or with the reason of the signal.
 */
export function exchange(
  dispatcher: Dispatcher,
  { origin, path, body }: Request,
  headers: Record<string, string>,
  limits: { readonly timeoutMs: number; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const handler = new ResponseHandler(limits, underWayOf(signal), resolve, reject);
    if (signal.aborted) handler.abort(abortReason(signal));
    const method = body === undefined ? 'GET' : 'POST';
    dispatcher.dispatch({ origin, path, headers, method, body: body ?? null }, handler);
  });
}

class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #limits: Parameters<typeof exchange>[3];
  readonly #underWay: ResponseHandler[];
  readonly #resolve: (response: RawResponse) => void;
  readonly #reject: (error: Error) => void;
  readonly #started = performance.now();
  #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  /** The reason for closing the connection when the exchange ends before its response. */
  #hangUpReason: Error | undefined;
  #ended = false;
  #status: number | undefined;
  #headers: ResponseHeaders = {};
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  /** @param underWay the handler is in it until its exchange has ended */
  constructor(
    limits: Parameters<typeof exchange>[3],
    underWay: ResponseHandler[],
    resolve: (response: RawResponse) => void,
    reject: (error: Error) => void,
  ) {
    this.#limits = limits;
    this.#underWay = underWay;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.#late(), limits.timeoutMs);
    underWay.push(this);
  }

  /** Ends the exchange without its response. */
  abort(error: Error): void {
    if (!this.#end()) return;
    this.#reject(error);
    this.#hangUp(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The exchange ended while it waited for a connection: nothing is sent.
    if (this.#hangUpReason !== undefined) controller.abort(this.#hangUpReason);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (this.#isError()) {
      clearTimeout(this.#timer);
      const left = this.#limits.timeoutMs - (performance.now() - this.#started);
      this.#timer = setTimeout(() => this.#cut(), Math.min(ERROR_BODY_MS, left));
    } else if (Number(headers['content-length']) > this.#limits.maxBytes) {
      this.#tooLarge();
    }
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    if (this.#isError()) {
      if (this.#bytes > ERROR_BODY_BYTES) this.#cut();
    } else if (this.#bytes > this.#limits.maxBytes) {
      this.#tooLarge();
    }
  }

  onResponseEnd(): void {
    this.#succeed();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#isError()) this.#cut();
    else this.abort(networkFailure(error, this.#status));
  }

  #isError(): boolean {
    return this.#status !== undefined && this.#status >= 300;
  }

  #late(): void {
    const what = this.#status === undefined ? 'no response' : 'no whole response';
    const words = `${what} within ${this.#limits.timeoutMs / 1000} s`;
    this.abort(new CallFailure('timeout', words, { status: this.#status, retriable: true }));
  }

  #tooLarge(): void {
    const words = `the response is larger than ${this.#limits.maxBytes} bytes`;
    this.abort(new CallFailure('too_large', words, { status: this.#status }));
  }

  /** The status alone is enough: an error response counts as read even if its body is incomplete. */
  #cut(): void {
    this.#succeed();
    this.#hangUp(new Error('the rest of the error body is not read'));
  }

  #succeed(): void {
    const status = this.#status;
    if (status === undefined) {
      this.abort(new CallFailure('invalid_response', 'the response ended without a status'));
      return;
    }
    if (!this.#end()) return;
    const body = this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#resolve({ status, headers: this.#headers, body });
  }

  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#underWay.splice(this.#underWay.indexOf(this), 1);
    return true;
  }

  #hangUp(error: Error): void {
    this.#hangUpReason = error;
    this.#controller?.abort(error);
  }
}

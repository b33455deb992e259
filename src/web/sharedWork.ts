import { yieldIfDue } from '../eventLoop/turns.ts';
import { bodyOf } from '../exposition/gzip.ts';
import { unlessGone } from './clientGone.ts';

/**
 * Large work for clients, such as the making of a page: requests for the same share it, different works are done one after the
 * other, and a work ends early once every client that waits for it has left. Many clients then cost what one costs.
 */
export class SharedWork<T> {
  /** By key, from the moment of the first request until the work begins, or its result is there; `waiting` counts clients. */
  readonly #works = new Map<string, { readonly result: Promise<T>; waiting: number; readonly abandon: () => void }>();
  readonly #joinUntil: 'begin' | 'end';
  #last: Promise<void> = Promise.resolve();

  /** @param joinUntil `begin` where the result of work that has begun may be too old for a request that arrives now */
  constructor(joinUntil: 'begin' | 'end') {
    this.#joinUntil = joinUntil;
  }

  /**
   * Work for one client; rejects with a {@link ClientGoneError} as soon as it has left (`gone`). Requests of one `key` can share
   * it. `make` does it in slices, and stops when its signal is aborted.
   */
  async of(key: string, gone: AbortSignal, make: (abandoned: AbortSignal) => Promise<T>): Promise<T> {
    const work = this.#works.get(key) ?? this.#add(key, make);
    work.waiting += 1;
    try {
      return await unlessGone(work.result, gone);
    } finally {
      work.waiting -= 1;
      if (work.waiting === 0) work.abandon();
    }
  }

  #add(key: string, make: (abandoned: AbortSignal) => Promise<T>) {
    const abandoned = new AbortController();
    const result = this.#last.then(() => {
      abandoned.signal.throwIfAborted();
      if (this.#joinUntil === 'begin') forget();
      return make(abandoned.signal);
    });
    const forget = (): void => {
      if (this.#works.get(key) === work) this.#works.delete(key);
    };
    const abandon = (): void => {
      forget();
      abandoned.abort();
    };
    const work = { result, waiting: 0, abandon };
    this.#works.set(key, work);
    this.#last = result.then(forget, forget);
    return work;
  }
}

/** Characters of a text that become one piece of bytes. */
const PIECE = 128 * 1024;

/** The bytes of a text, made of its parts in slices, compressed where `gzip`. Rejects once the signal is aborted. */
export async function bytesOf(
  parts: Iterable<string>,
  gzip: boolean,
  abandoned: AbortSignal,
): Promise<readonly Buffer[]> {
  return await bodyOf(piecesOf(parts, abandoned), gzip);
}

async function* piecesOf(parts: Iterable<string>, abandoned: AbortSignal): AsyncGenerator<Buffer> {
  let text = '';
  for (const part of parts) {
    await yieldIfDue();
    abandoned.throwIfAborted();
    text += part;
    if (text.length < PIECE) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(text);
}

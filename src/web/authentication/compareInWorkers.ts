import { Worker } from 'node:worker_threads';
import { COMPARED_AT_ONCE, type Compare } from './passwords.ts';
import type { ComparisonRequest, ComparisonResult } from './passwordWorker.ts';

/** The worker's file beside the built program: see scripts/build.ts. */
const WORKER = new URL('./passwordWorker.js', import.meta.url);

interface Asked {
  readonly resolve: (matches: boolean) => void;
  readonly reject: (error: Error) => void;
}

/** Compares passwords in threads of their own, so that scrapes are answered meanwhile; `file` is what a thread runs. */
export function compareInWorkers(file: URL = WORKER, count = COMPARED_AT_ONCE): Compare {
  const threads = Array.from({ length: count }, () => new PasswordThread(file));
  return (...comparison) => {
    const [free] = threads.toSorted((a, b) => a.open - b.open);
    return free === undefined ? Promise.resolve(false) : free.compare(...comparison);
  };
}

/** Starts with its first password, never keeps the process alive, and is started anew after it has ended. */
class PasswordThread {
  readonly #file: URL;
  readonly #asked = new Map<number, Asked>();
  #worker: Worker | undefined;
  #lastId = 0;

  constructor(file: URL) {
    this.#file = file;
  }

  /** Comparisons that have not ended. */
  get open(): number {
    return this.#asked.size;
  }

  compare(password: string, hash: string, cost: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      this.#asked.set(this.#lastId, { resolve, reject });
      this.#worker ??= this.#start();
      const request: ComparisonRequest = { id: this.#lastId, password, hash, cost };
      this.#worker.postMessage(request);
    });
  }

  #start(): Worker {
    const started = new Worker(this.#file);
    started.unref();
    started.on('message', ({ id, matches }: ComparisonResult) => {
      this.#asked.get(id)?.resolve(matches);
      this.#asked.delete(id);
    });
    const fail = (error: Error): void => {
      if (this.#worker !== started) return;
      this.#worker = undefined;
      for (const { reject } of this.#asked.values()) reject(error);
      this.#asked.clear();
    };
    started.on('error', fail);
    started.on('exit', () => fail(new Error('the thread that compares passwords has ended')));
    return started;
  }
}

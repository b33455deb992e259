import { Worker } from 'node:worker_threads';
import type { Compare } from './passwords.ts';
import type { ComparisonRequest, ComparisonResult } from './passwordWorker.ts';

/** The worker's file beside the built program: see scripts/build.ts. */
const WORKER = new URL('./passwordWorker.js', import.meta.url);

interface Asked {
  readonly resolve: (matches: boolean) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Compares passwords in a thread of its own, so that scrapes are answered meanwhile. The thread starts with the first
 * password, never keeps the process alive, and is started anew after it has ended.
 *
 * @param file what the thread runs
 */
export function compareInWorker(file: URL = WORKER): Compare {
  let worker: Worker | undefined;
  let lastId = 0;
  const open = new Map<number, Asked>();

  const start = (): Worker => {
    const started = new Worker(file);
    started.unref();
    started.on('message', ({ id, matches }: ComparisonResult) => {
      open.get(id)?.resolve(matches);
      open.delete(id);
    });
    const fail = (error: Error): void => {
      if (worker !== started) return;
      worker = undefined;
      for (const { reject } of open.values()) reject(error);
      open.clear();
    };
    started.on('error', fail);
    started.on('exit', () => fail(new Error('the thread that compares passwords has ended')));
    return started;
  };

  return (password, hash) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      open.set(lastId, { resolve, reject });
      worker ??= start();
      const request: ComparisonRequest = { id: lastId, password, hash };
      worker.postMessage(request);
    });
}

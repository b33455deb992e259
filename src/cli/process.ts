import process from 'node:process';
import closeWithGrace from 'close-with-grace';
import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import { setMaxListeners } from 'node:events';
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { withStack } from '../log/logger.ts';

/** A command has ended with this exit status; the message for the user is already printed. */
export class ExitStatus extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`exit status ${status}`);
    this.status = status;
  }
}

/** The command was used wrongly; the message is a sentence, and the exit status is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command was stopped by a signal; shells expect 128 and the number of the signal as its exit status. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
  readonly status: number;

  constructor(signal: 'SIGINT' | 'SIGTERM') {
    super('stopped');
    this.status = 128 + constants.signals[signal];
  }
}

/** Thrown when standard output did not take the text written to it. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
  /** 0 when the reader has closed the pipe, as `head` does once it has enough; else 1. */
  readonly status: 0 | 1;

  constructor(cause: NodeJS.ErrnoException) {
    const [code, reason] = getSystemErrorMap().get(cause.errno ?? 0) ?? ['unknown error', cause.message];
    super(`standard output cannot be written: ${reason} (${code})`, { cause });
    this.status = cause.code === 'EPIPE' ? 0 : 1;
  }
}

/** Calls `lost` once, when standard output accepts no more. */
export function onOutputLost(lost: (error: OutputError) => void): void {
  process.stdout.once('error', (error: NodeJS.ErrnoException) => lost(new OutputError(error)));
}

/** Waits until standard output has taken everything, or has failed. */
export async function flushOutput(): Promise<void> {
  await new Promise<void>((done) => process.stdout.write('', () => done()));
}

/** Longest stop, in milliseconds; orchestrators kill soon after. */
const STOP_LIMIT = 4_500;

/**
 * The signal that ends a command which reads from New Relic: aborted by ctrl-C, SIGTERM, and an OutputError when its output is
 * closed.
 */
export function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  // No limit of listeners, because every waiting call adds one.
  setMaxListeners(0, controller.signal);
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => controller.abort(new StoppedError(name)));
  }
  onOutputLost((error) => controller.abort(error));
  return controller.signal;
}

/**
 * Starts a service and stops it on SIGTERM, SIGINT and, unless SIGHUP means reload, SIGHUP: within 5 seconds with status 0, at
 * once on a second signal, even during the start. An uncaught error stops it with status 1. Rejects as `start` does.
 *
 * @returns the service, a signal that is aborted just before the stop, and a function that stops it and removes the signal
 * handlers
 */
export async function runService<T extends { stop(): Promise<void>; reload?(): Promise<unknown> }>(
  logger: Logger,
  start: () => Promise<T>,
  onHangup: 'reload' | 'stop',
): Promise<{ readonly service: T; readonly stopping: AbortSignal; readonly end: () => Promise<void> }> {
  let running: T | undefined;
  if (onHangup === 'reload') {
    process.on('SIGHUP', () => {
      // Before the start there is nothing to reload: the configuration is about to be read.
      running?.reload?.().catch((error: unknown) => logger.error({ err: withStack(error) }, 'Reloading failed'));
    });
  }
  const stopping = new AbortController();
  const stop = async (): Promise<void> => {
    stopping.abort();
    // A failed start has already cleaned up and reported its error.
    const service = await started.catch(() => undefined);
    await service?.stop();
  };
  const options = {
    delay: STOP_LIMIT,
    skip: onHangup === 'reload' ? ['SIGHUP' as const] : [],
    logger: { error: (err: unknown) => logger.error({ err }, 'Shutdown failed') },
  };
  const handlers = closeWithGrace(options, async ({ signal, err }) => {
    if (err !== undefined) logger.error({ err: withStack(err) }, 'Unexpected error, shutting down');
    else logger.info({ signal }, 'Shutting down');
    await stop();
  });
  onOutputLost((lost) => {
    handlers.uninstall();
    void stop().finally(() => process.exit(lost.status));
  });
  const started = start();
  try {
    running = await started;
  } catch (error) {
    handlers.uninstall();
    throw error;
  }
  const end = async (): Promise<void> => {
    handlers.uninstall();
    await stop();
  };
  return { service: running, stopping: stopping.signal, end };
}

/** Growth of the memory between two full garbage collections, in percent of the memory in use. */
const GROWTH = 50;

/** Size of the memory for new objects, in bytes: a smaller one is collected too often, a larger one gains no speed. */
const YOUNG_SPACE = 8 * 1024 * 1024;

/**
 * Sets V8's garbage collection for a small memory rather than for the last percent of speed (docs/performance.md).
 *
 * - Every refresh replaces all values. By default V8 lets the memory grow to several times the size in use before it frees the
 *   old values.
 * - Pretenuring puts new objects straight into old memory where V8 has seen many of them survive. It does so with the buffers
 *   of response bodies, of which thousands then wait there for a full collection.
 * - The memory for new objects grows to 33 MB in the first large refresh. Only a flag of the command line could limit it
 *   beforehand, so V8 is told to stop growing it when it is large enough.
 */
export function collectGarbageEarly(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`);
  setFlagsFromString('--no-allocation-site-pretenuring');
  const collections = new PerformanceObserver(() => {
    if (youngSpace() < YOUNG_SPACE) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    collections.disconnect();
  });
  collections.observe({ entryTypes: ['gc'] });
}

function youngSpace(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

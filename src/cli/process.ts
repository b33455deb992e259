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

/** What was written to standard output did not arrive. */
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

/** Calls `lost` once, when standard output takes no more. */
export function onOutputLost(lost: (error: OutputError) => void): void {
  process.stdout.once('error', (error: NodeJS.ErrnoException) => lost(new OutputError(error)));
}

/** Waits until standard output has taken everything, or has said that it will not. */
export async function flushOutput(): Promise<void> {
  await new Promise<void>((done) => process.stdout.write('', () => done()));
}

/** A stop takes at most this long, in milliseconds; orchestrators kill soon after. */
const STOP_LIMIT = 4_500;

/**
 * The signal that ends a command which reads from upstream: aborted by ctrl-C, SIGTERM, and an OutputError when nobody
 * reads its output any more.
 */
export function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  // Every call that waits listens to it.
  setMaxListeners(0, controller.signal);
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => controller.abort(new StoppedError(name)));
  }
  onOutputLost((error) => controller.abort(error));
  return controller.signal;
}

/**
 * Starts a service and stops it on SIGTERM, SIGINT and, unless it is to reload then, SIGHUP: within 5 seconds with status 0, at once
 * on a second signal, also while it starts. What nobody caught stops it with status 1. Rejects as `start` does.
 *
 * @returns the service, a signal that is aborted when it is about to be stopped, and what stops it and gives the signals back
 */
export async function runService<T extends { stop(): Promise<void>; reload?(): Promise<unknown> }>(
  logger: Logger,
  start: () => Promise<T>,
  onHangup: 'reload' | 'stop',
): Promise<{ readonly service: T; readonly stopping: AbortSignal; readonly end: () => Promise<void> }> {
  let running: T | undefined;
  if (onHangup === 'reload') {
    process.on('SIGHUP', () => {
      // Before the start it has nothing to do: the configuration is about to be read.
      running?.reload?.().catch((error: unknown) => logger.error({ err: withStack(error) }, 'Reloading failed'));
    });
  }
  const stopping = new AbortController();
  const stop = async (): Promise<void> => {
    stopping.abort();
    // A start that has failed has cleaned up behind itself, and said why.
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

/** How much the memory may grow between two full collections of garbage, in percent of what is in use. */
const GROWTH = 50;

/** Enough memory for new objects, in bytes: with less they are collected too often, with more nothing gets faster. */
const YOUNG_SPACE = 8 * 1024 * 1024;

/**
 * Has V8 collect garbage for a small memory rather than for the last percent of speed (docs/performance.md).
 *
 * - Every refresh replaces all values. V8 would let the memory grow to several times what is in use before it looks for
 *   those of before.
 * - Pretenuring puts new objects straight into old memory where V8 has seen many of them live on. It takes the buffers that
 *   answers are read into for such, and then thousands of bodies wait there for a full collection.
 * - The memory for new objects grows to 33 MB in the first large refresh. It takes a flag of the command line to limit it
 *   beforehand, so V8 is told to stop when it is large enough.
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

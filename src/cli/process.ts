import process from 'node:process';
import closeWithGrace from 'close-with-grace';
import { getSystemErrorMap } from 'node:util';
import { setMaxListeners } from 'node:events';
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

/** Something that runs until it is told to stop. */
interface Service {
  stop(): Promise<void>;
}

/** A service that reads its configuration again on SIGHUP; any other is stopped by it. */
export interface ReloadingService extends Service {
  reload(): Promise<unknown>;
}

interface RunningService<T> {
  readonly service: T;
  /** Aborted when the service is about to be stopped. */
  readonly stopping: AbortSignal;
  /** Stops the service and gives the signals back. */
  readonly end: () => Promise<void>;
}

/**
 * The signal that ends a command which reads from upstream: aborted by ctrl-C, SIGTERM, and an OutputError when nobody
 * reads its output any more.
 */
export function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  // Every call that waits listens to it.
  setMaxListeners(0, controller.signal);
  const stop = (): void => controller.abort(new Error('stopped'));
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  onOutputLost((error) => controller.abort(error));
  return controller.signal;
}

/**
 * Starts a service and stops it on SIGTERM, SIGINT and SIGHUP: within 5 seconds with status 0, at once on a second signal,
 * also while it starts. What nobody caught stops it with status 1. Rejects as `start` does.
 */
export function runService<T extends Service>(logger: Logger, start: () => Promise<T>): Promise<RunningService<T>> {
  return run(logger, start, []);
}

/** As runService, but SIGHUP reloads. */
export async function runReloadingService<T extends ReloadingService>(
  logger: Logger,
  start: () => Promise<T>,
): Promise<RunningService<T>> {
  const started: { service?: T } = {};
  process.on('SIGHUP', () => {
    // Before the start it has nothing to do: the configuration is about to be read.
    started.service?.reload().catch((error: unknown) => logger.error({ err: withStack(error) }, 'Reloading failed'));
  });
  const running = await run(logger, start, ['SIGHUP']);
  started.service = running.service;
  return running;
}

async function run<T extends Service>(
  logger: Logger,
  start: () => Promise<T>,
  skip: 'SIGHUP'[],
): Promise<RunningService<T>> {
  const stopping = new AbortController();
  const stop = async (): Promise<void> => {
    stopping.abort();
    // A start that has failed has cleaned up behind itself, and said why.
    const service = await started.catch(() => undefined);
    await service?.stop();
  };
  const handlers = closeWithGrace(
    { delay: STOP_LIMIT, skip, logger: { error: (err: unknown) => logger.error({ err }, 'Shutdown failed') } },
    async ({ signal, err }) => {
      if (err !== undefined) logger.error({ err: withStack(err) }, 'Unexpected error, shutting down');
      else logger.info({ signal }, 'Shutting down');
      await stop();
    },
  );
  onOutputLost((lost) => {
    handlers.uninstall();
    void stop().finally(() => process.exit(lost.status));
  });
  const started = start();
  try {
    const service = await started;
    const end = async (): Promise<void> => {
      handlers.uninstall();
      await stop();
    };
    return { service, stopping: stopping.signal, end };
  } catch (error) {
    handlers.uninstall();
    throw error;
  }
}

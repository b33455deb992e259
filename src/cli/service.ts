import process from 'node:process';
import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import { errorText } from '../log/logger.ts';
import { endProcess } from './ending.ts';
import { onOutputLost } from './process.ts';
import { onIgnoredSignal, releaseSignals } from './signals.ts';

/** Longest stop, in milliseconds; orchestrators kill soon after. */
const STOP_LIMIT = 4_500;

/**
 * Signals that keep the meaning that the system gives them. Most tell of a crash: a listener in JavaScript never runs after a real
 * one, so the process would hang instead of being started again.
 */
const LEFT_TO_SYSTEM = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV'] as const;

/**
 * Starts a service, and stops it within 5 seconds with status 0 on SIGTERM and SIGINT, even during the start; a second signal
 * ends it at once. SIGHUP reloads or stops, as `onHangup` says; a reload during the start follows the start. SIGUSR1 and SIGUSR2
 * have no effect. An uncaught error stops it with status 1. Rejects when `start` does; gives the service, a signal that is aborted
 * just before the stop, and a function that stops it.
 */
export async function runService<T extends { stop(): Promise<void>; reload?(): Promise<unknown> }>(
  logger: Logger,
  start: () => Promise<T>,
  onHangup: 'reload' | 'stop',
): Promise<{ readonly service: T; readonly stopping: AbortSignal; readonly end: () => Promise<void> }> {
  let running: T | undefined;
  const reloads = { isDue: false };
  const reload = (): void => {
    reloads.isDue = running === undefined;
    running?.reload?.().catch((error: unknown) => logger.error({ err: errorText(error, true) }, 'Reloading failed'));
  };
  if (onHangup === 'reload') process.on('SIGHUP', reload);
  onIgnoredSignal((signal) => logger.debug({ signal }, 'This signal is ignored'));
  const stopping = new AbortController();
  const stop = async (): Promise<void> => {
    stopping.abort();
    // A failed start has already cleaned up and reported its error.
    await (await started.catch(() => undefined))?.stop();
  };
  const endAtOnce = (reason: string): never => {
    logger.error(`${reason}, ending at once`);
    endProcess(1);
  };
  const options = {
    delay: STOP_LIMIT,
    skip: [...LEFT_TO_SYSTEM, 'SIGUSR2' as const, ...(onHangup === 'reload' ? ['SIGHUP' as const] : [])],
    onSecondSignal: (signal: string) => endAtOnce(`Second ${signal}`),
    onSecondError: (error: unknown) => endAtOnce(`Second error: ${errorText(error, true)}`),
    onTimeout: (delay: number) => endAtOnce(`Not stopped within ${delay} ms`),
  };
  const handlers = closeWithGrace(options, async ({ signal, err }) => {
    if (err !== undefined) logger.error({ err: errorText(err, true) }, 'Unexpected error, shutting down');
    else logger.info({ signal }, 'Shutting down');
    try {
      await stop();
    } catch (error) {
      endAtOnce(`Shutdown failed: ${errorText(error, true)}`);
    }
    endProcess(err === undefined ? 0 : 1);
  });
  // A lost output has a status of its own, so the handlers, which would end with another one, are removed first.
  onOutputLost((lost) => {
    handlers.uninstall();
    void stop().finally(() => endProcess(lost.status));
  });
  const started = start();
  releaseSignals();
  try {
    running = await started;
  } catch (error) {
    handlers.uninstall();
    throw error;
  }
  if (reloads.isDue) reload();
  const end = async (): Promise<void> => {
    handlers.uninstall();
    await stop();
  };
  return { service: running, stopping: stopping.signal, end };
}

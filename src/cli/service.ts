import process from 'node:process';
import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import { errorText } from '../log/logger.ts';
import { onOutputLost } from './process.ts';

/** Longest stop, in milliseconds; orchestrators kill soon after. */
const STOP_LIMIT = 4_500;

/**
 * Starts a service, and stops it within 5 seconds with status 0 on SIGTERM and SIGINT, even during the start; a second signal
 * ends it at once. SIGHUP reloads or stops, as `onHangup` says. An uncaught error stops it with status 1. Rejects when `start`
 * does; gives the service, a signal that is aborted just before the stop, and a function that stops it.
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
      running?.reload?.().catch((error: unknown) => logger.error({ err: errorText(error, true) }, 'Reloading failed'));
    });
  }
  const stopping = new AbortController();
  const stop = async (): Promise<void> => {
    stopping.abort();
    // A failed start has already cleaned up and reported its error.
    await (await started.catch(() => undefined))?.stop();
  };
  const options = {
    delay: STOP_LIMIT,
    skip: onHangup === 'reload' ? ['SIGHUP' as const] : [],
    logger: { error: (err: unknown) => logger.error({ err }, 'Shutdown failed') },
  };
  const handlers = closeWithGrace(options, async ({ signal, err }) => {
    if (err !== undefined) logger.error({ err: errorText(err, true) }, 'Unexpected error, shutting down');
    else logger.info({ signal }, 'Shutting down');
    await stop();
  });
  // A lost output has a status of its own, so the handlers, which would end with another one, are removed first.
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

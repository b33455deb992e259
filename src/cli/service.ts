import process from 'node:process';
import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import { errorText } from '../log/logger.ts';
import { endProcess } from './ending.ts';
import { onOutputLost } from './process.ts';
import { onIgnoredSignal, releaseSignals } from './signals.ts';

/** Time limit for a stop, in milliseconds. Orchestrators kill the process soon after. */
const STOP_LIMIT = 4_500;

/**
 * Signals that keep their default action. Most mean a crash. JavaScript listeners never run after a real crash, so
 * the process would hang instead of restarting.
 */
const LEFT_TO_SYSTEM = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV'] as const;

interface Service {
  stop(): Promise<void>;
  /** Never rejects. */
  reload?(): Promise<unknown>;
}

/**
 * Starts a service. SIGTERM and SIGINT stop it within 5 seconds with status 0, even during the start. A second signal
 * ends it at once. SIGHUP reloads or stops it, by `onHangup`; a reload during the start waits for the start. It
 * ignores SIGUSR1 and SIGUSR2. An uncaught error stops it with status 1. Rejects when `start` does.
 */
export async function runService(logger: Logger, start: () => Promise<Service>, onHangup: 'reload' | 'stop') {
  // A failed start has already cleaned up and printed its error.
  const service = (): Promise<Service | undefined> => started.catch(() => undefined);
  const stop = async (): Promise<void> => (await service())?.stop();
  if (onHangup === 'reload') process.on('SIGHUP', () => void service().then((running) => running?.reload?.()));
  onIgnoredSignal((signal) => logger.debug({ signal }, 'Ignoring this signal'));
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
  // Removes the handlers first: they would end the process with another status.
  onOutputLost((lost) => {
    handlers.uninstall();
    void stop().finally(() => endProcess(lost.status));
  });
  const started = start();
  releaseSignals();
  try {
    await started;
  } catch (error) {
    handlers.uninstall();
    throw error;
  }
}

import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import type { Daemon } from './daemon.ts';

/** A stop takes at most this long, in milliseconds; orchestrators kill soon after. */
const STOP_LIMIT = 4_500;

/**
 * Ends the daemon on SIGTERM and SIGINT: within 5 seconds with status 0, at once on a second signal. SIGHUP reloads.
 * What nobody caught ends it too, with status 1.
 */
export function closeOnSignals(daemon: Daemon, logger: Logger): void {
  process.on('SIGHUP', () => void daemon.reload('SIGHUP'));
  closeWithGrace(
    {
      delay: STOP_LIMIT,
      skip: ['SIGHUP'],
      logger: { error: (problem: unknown) => logger.error({ err: problem }, 'Ended in disorder') },
    },
    async ({ signal, err }) => {
      if (err !== undefined) logger.error({ err }, 'Unexpected error, shutting down');
      else logger.info({ signal }, 'Shutting down');
      await daemon.stop();
    },
  );
}

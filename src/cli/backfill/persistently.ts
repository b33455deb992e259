import { UpstreamError, type FailureReason } from '../../api/errors.ts';

/** Failures that may be over some time later. */
const PASSING: ReadonlySet<FailureReason> = new Set(['timeout', 'network', 'server', 'rate_limited']);

const FIRST_WAIT = 5_000;
const LONGEST_WAIT = 60_000;
const MOST_ATTEMPTS = 6;

/**
 * Reads with patience: what fails after the client's own retries is tried again after 5 seconds, doubling up to a minute,
 * six times in all, so that an hour of reading is not lost to a minute of trouble. Rejects with the last failure, and at
 * once with one that will not pass.
 *
 * @param sleep waits so many milliseconds; rejects when the run is stopped
 */
export async function persistently<T>(read: () => Promise<T>, sleep: (ms: number) => Promise<void>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      const mayPass = error instanceof UpstreamError && PASSING.has(error.failure.reason);
      if (!mayPass || attempt >= MOST_ATTEMPTS) throw error;
      await sleep(Math.min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT));
    }
  }
}

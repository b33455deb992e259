import { describe, expect, it } from 'vitest';
import { UpstreamError, type FailureReason } from '../../../src/api/upstreamError.ts';
import { retryTransient } from '../../../src/tools/backfill/backfillApplication.ts';

const failure = (reason: FailureReason): UpstreamError => new UpstreamError(reason, { reason });

function reading(failures: number, error: Error) {
  const waits: number[] = [];
  let attempts = 0;
  const outcome = retryTransient(
    () => {
      attempts += 1;
      return attempts > failures ? Promise.resolve('read') : Promise.reject(error);
    },
    (ms) => Promise.resolve(void waits.push(ms)),
  );
  return { outcome, waits, attempts: () => attempts };
}

describe('persistently', () => {
  it.each(['timeout', 'network', 'server', 'rate_limited'] as const)('retries until %s has passed', async (reason) => {
    const { outcome, waits } = reading(5, failure(reason));
    expect(await outcome).toBe('read');
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000]);
  });

  it('gives up after six attempts', async () => {
    const { outcome, attempts } = reading(99, failure('server'));
    await expect(outcome).rejects.toThrow('server');
    expect(attempts()).toBe(6);
  });

  it.each([failure('auth'), failure('not_found'), new Error('the disk is full')])(
    'does not retry a permanent failure: %s',
    async (error) => {
      const { outcome, waits } = reading(1, error);
      await expect(outcome).rejects.toBe(error);
      expect(waits).toEqual([]);
    },
  );

  it('ends when the run is stopped during a wait', async () => {
    const waiting = retryTransient(
      () => Promise.reject(failure('timeout')),
      () => Promise.reject(new Error('stopped')),
    );
    await expect(waiting).rejects.toThrow('stopped');
  });
});

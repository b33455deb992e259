import { afterEach, expect, test, vi } from 'vitest';
import { findProgram } from './support/realPrograms.ts';

afterEach(() => void vi.unstubAllEnvs());

test('a newest program that does not start is an absence, since what sid holds moves on', async () => {
  vi.stubEnv('PROMTOOL_NEWEST', '/bin/false');
  expect(await findProgram('promtool', 'newest')).toEqual({
    problem: expect.stringMatching(
      /^promtool \(newest\) does not start here: .*\/bin\/false --version ended/,
    ) as unknown,
  });
});

test('a stable program that does not start is a fault', async () => {
  vi.stubEnv('PROMTOOL', '/bin/false');
  await expect(findProgram('promtool', 'stable')).rejects.toThrow('/bin/false --version ended with status 1');
});

import { afterEach, expect, test, vi } from 'vitest';
import { onPath } from './support/debianPackages.ts';
import { findProgram } from './support/realPrograms.ts';

const FALSE = onPath('false') ?? '';

afterEach(() => void vi.unstubAllEnvs());

test('a newest program that does not start is an absence, since what sid holds moves on', async () => {
  vi.stubEnv('PROMTOOL_NEWEST', FALSE);
  expect(await findProgram('promtool', 'newest')).toEqual({
    problem: expect.stringMatching(/^promtool \(newest\) does not start here: .*\/false --version ended/) as unknown,
  });
});

test('a stable program that does not start is a fault', async () => {
  vi.stubEnv('PROMTOOL', FALSE);
  await expect(findProgram('promtool', 'stable')).rejects.toThrow(`${FALSE} --version ended with status 1`);
});

import { expect, test } from 'vitest';
import { SKIP_MARK } from './support/skipMark.ts';
import { summarizeSkips } from './support/skipReporter.ts';

test('skipped tests are counted by the reason that their suite names', () => {
  const names = [
    `rules [${SKIP_MARK}promtool was not found] > accepts the rules`,
    `rules [${SKIP_MARK}promtool was not found] > holds every case`,
    `units [${SKIP_MARK}systemd-analyze was not found] > accepts the service`,
    'a suite that is skipped for another reason > a test',
  ];
  expect(summarizeSkips(names)).toEqual([
    'real-program tests: 2 skipped, promtool was not found',
    'real-program tests: 1 skipped, systemd-analyze was not found',
  ]);
});

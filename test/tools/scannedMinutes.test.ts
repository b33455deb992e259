import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readQueries } from '../../src/config/queries.ts';
import { Secrets } from '../../src/log/secrets.ts';
import { describeScanned, calculateScannedMinutes } from '../../src/tools/scannedMinutes.ts';
import type { Group } from '../../src/reads/reads.ts';
import { accountConfig } from '../collect/support/config.ts';

const MINUTE = 60_000;
const plan = (intervals: Readonly<Partial<Record<Group, number>>>, slowdown = 1) => ({
  slowdown,
  groups: Object.entries(intervals).map(([group, minutes]) => ({
    group: group as Group,
    callsPerRefresh: 1,
    callsPerMinute: 1,
    interval: minutes * MINUTE,
    effectiveInterval: minutes * MINUTE,
  })),
});

const account = accountConfig({
  api: 'nerdgraph',
  queries: [
    { name: 'a', nrql: 'SELECT count(*) FROM A', metrics: [], window: 720 * MINUTE, interval: 5 * MINUTE },
    { name: 'b', nrql: 'SELECT count(*) FROM B', metrics: [], interval: MINUTE },
  ] as never,
  entities: [
    { type: 'EXT-SERVICE', window: 5 * MINUTE, interval: MINUTE },
    { type: 'INFRA-HOST', interval: 2 * MINUTE },
  ] as never,
});

test.each<[string, Group, number, number]>([
  ['a window that is read every minute', 'application_metrics', 1, 30],
  ['a window that is read every half hour', 'host_metrics', 30, 1],
  ['rolling values of four minutes', 'applications', 1, 4],
  ['host lists of an hour, with four minutes of values, every five minutes', 'hosts', 5, 12.8],
  ['names of a day, every six hours', 'custom_metrics', 360, 4],
  ['counters: each minute and the ten before it', 'counters', 1, 11],
])('%s', (_, group, interval, minutes) => {
  expect(calculateScannedMinutes(account, { window: 30 * MINUTE }, plan({ [group]: interval }))).toEqual([
    { group, minutes },
  ]);
});

test('each query and each type of entities counts with its own window and interval', () => {
  expect(calculateScannedMinutes(account, { window: 30 * MINUTE }, plan({ queries: 1, golden_metrics: 1 }))).toEqual([
    { group: 'queries', name: 'a', minutes: 144 },
    { group: 'queries', name: 'b', minutes: 30 },
    { group: 'golden_metrics', name: 'EXT-SERVICE', minutes: 5 },
    { group: 'golden_metrics', name: 'INFRA-HOST', minutes: 15 },
  ]);
});

test('metric names cost no data, and REST only golden metrics and queries', () => {
  const groups = plan({ metric_names: 360, application_metrics: 1, golden_metrics: 1, queries: 1 });
  const read = (api: 'rest' | 'nerdgraph') =>
    new Set(calculateScannedMinutes({ ...account, api }, { window: MINUTE }, groups).map(({ group }) => group));
  expect(read('nerdgraph')).toEqual(new Set(['application_metrics', 'golden_metrics', 'queries']));
  expect(read('rest')).toEqual(new Set(['golden_metrics', 'queries']));
});

test('a plan that does not fit costs less data, because it reads less often', () => {
  expect(calculateScannedMinutes(account, { window: 30 * MINUTE }, plan({ queries: 1 }, 2))).toMatchObject([
    { name: 'a', minutes: 72 },
    { name: 'b', minutes: 15 },
  ]);
});

test.each([
  [[], []],
  [
    [
      { group: 'hosts', minutes: 12.8 },
      { group: 'queries', name: 'alert_events/open', minutes: 8_640 },
      { group: 'queries', name: 'small', minutes: 0.04 },
    ],
    [
      'Data read: 8,653 minutes of data per minute (hosts 12.8, queries 8,640). Price plans by compute charge for them.',
      'Most expensive: queries alert_events/open, 8,640 (99.9 %).',
    ],
  ],
] as const)('the sentences name the group that reads most of the data: %j', (scanned, sentences) => {
  expect(describeScanned(scanned)).toEqual(sentences);
});

test('files to copy have the pack alert_events commented out, with its cost', () => {
  const { further } = readQueries({ accounts: [{ query_packs: ['alert_events'] }] }, '', new Secrets());
  const queries = further[0] ?? [];
  const [row, ...others] = calculateScannedMinutes({ ...account, queries }, { window: MINUTE }, plan({ queries: 1 }));
  expect([row?.minutes, others, queries[0]?.interval]).toEqual([8_640, [], 5 * MINUTE]);
  for (const file of ['config.minimal.yaml', 'docs/configuration.md', 'src/tools/init.ts']) {
    const text = readFileSync(file, 'utf8');
    const [, comment] = /^(.*\n.*\n).*#query_packs: \[alert_events\]/m.exec(text) ?? [];
    expect(comment, file).toMatch(/5 minutes/);
    expect(comment, file).toContain('8,640 minutes of data per minute');
    expect(text).not.toMatch(/^ *query_packs: \[alert_events\]/m);
  }
});

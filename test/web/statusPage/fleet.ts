import { REMEDIES } from '../../../src/api/upstreamError.ts';
import type { AccountStatus, TypeStatus } from '../../../src/collect/serve/accountStatus.ts';
import { GROUPS } from '../../../src/reads/reads.ts';
import type { Block } from '../../../src/metrics/writeSamples.ts';
import {
  accountStatus,
  breakdownBlock,
  entityBlocks,
  groupStatus,
  listedBlock,
  task,
  TEST_NOW,
  typeStatus,
  type Times,
} from '../support/collector.ts';

/** Names as an attacker, or just a careless colleague, would give. */
export const HOSTILE_NAMES = [
  '<script>document.title="pwned"</script>',
  '"><img src=x onerror=alert(1)>',
  "'); DROP TABLE applications; --",
  '</style><style>body{display:none}</style>',
  '\u202Egnp.exe',
  '&lt;b&gt; & &amp;',
  'javascript:alert(1)',
  'ein sehr langer Name '.repeat(12),
] as const;

const SHAPES: Times[] = [
  { response: 0.252, queue: 0.012, components: { 'Datastore/MySQL': 0.09, External: 0.05 }, total: 0.1 },
  { response: 1.43, components: { 'Datastore/Postgres': 0.7, 'Datastore/Redis': 0.02, External: 0.5 }, total: 0.21 },
  { response: 0.031, queue: 0.004, components: { Database: 0.006, Memcache: 0.001 }, total: 0.02 },
  { response: 0.4, components: { External: 0.55 }, total: -0.15 },
  { response: 0.08, total: 0.08 },
];

/** What is special about an account that refuses its key. */
export const REFUSED = { up: false, refused: 'The service refused the key (401); check api_key of this account.' };

/** A fleet with everything the page can show. */
export function fleet(applications = 120): { accounts: AccountStatus[]; blocks: Block[] } {
  const names = Array.from({ length: applications }, (_, index) => HOSTILE_NAMES[index - 4] ?? `shop-${index}`);
  const list = names.map((name, index) => ({
    id: 1_000 + index,
    name,
    language: ['java', 'ruby', 'go', undefined][index % 4],
    reporting: index % 15 !== 14,
  }));
  const blocks = list
    .filter(({ reporting }) => reporting)
    .map(({ id, name }, index) => breakdownBlock('production', id, name, SHAPES[index % SHAPES.length]));
  const tasks = [
    task({ group: 'applications', applicationId: undefined, application: undefined, seconds: 1.2 }),
    task({
      ...{ applicationId: 1_004, application: HOSTILE_NAMES[0], state: 'stale', failures: 4, seconds: 9.8 },
      problem: 'GET /applications/{id}/metrics/data.json: 503, after 3 attempts; the service is overloaded',
    }),
    task({
      ...{ group: 'host_metrics', applicationId: 1_001, application: 'shop-1', hostId: '51' },
      ...{ host: 'web-01.<b>example</b>', state: 'missing', failures: 11, seconds: 10 },
      problem: 'GET /applications/{id}/hosts/{host_id}/metrics/data.json: no response within 10 s',
    }),
    ...list.slice(0, 30).map(({ id, name }) => task({ applicationId: id, application: name })),
  ];
  const accounts = [
    accountStatus({
      labels: { team: 'payments', stage: '<prod>' },
      plan: { groups: [], callsPerMinute: 740, budget: 600, concurrencyCapacity: undefined, slowdown: 740 / 600 },
      applications: list,
      tasks,
      warnings: ['applications.include[2] (name "checkuot-*") matches nothing.'],
      groups: [
        groupStatus({
          ...{ group: 'application_metrics', success: false, durationSeconds: 42.4, lastSuccess: TEST_NOW - 400 },
          ...{ effectiveIntervalSeconds: 130, tasks: { fresh: 117, stale: 2, missing: 1 } },
        }),
        groupStatus({
          ...{ group: 'host_metrics', success: undefined, lastSuccess: undefined, oldestWindowEnd: undefined },
        }),
        groupStatus({ group: 'metric_names', intervalSeconds: 21_600, effectiveIntervalSeconds: 21_600 }),
      ],
      budget: { configured: 600, inForce: 420, lastMinute: 411, inFlight: 8, pausedUntil: TEST_NOW + 42 },
    }),
    accountStatus({ name: 'europe', ...REFUSED, applications: undefined, tasks: [], groups: [groupStatus()] }),
  ];
  return { accounts, blocks };
}

/** Three types of entities: one that is well, one of which much is left out, and one whose list fails. */
export function monitoredTypes(): TypeStatus[] {
  return [
    typeStatus({ listed: 12, exported: 12, reporting: 12, leftOut: 0, metrics: ['errorRate', 'throughput'] }),
    typeStatus({
      ...{ type: 'BROWSER-APPLICATION', listed: 1_240, exported: 1_000, reporting: 988, excluded: 90, leftOut: 150 },
      metrics: ['largestContentfulPaint75PercentileS', 'pageLoadSeconds', 'throughputPpm'],
      metricProblems: [
        { type: 'EXT-SERVICE', metric: 'errors', problem: 'its definition begins another clause with LIMIT' },
        {
          type: 'EXT-SERVICE',
          metric: 'firstInputDelay',
          problem: 'graphql:golden_metrics: NRQL Syntax Error: line 1 position 41',
        },
        { type: 'EXT-SERVICE', metric: HOSTILE_NAMES[0], problem: 'no entity has it' },
      ],
      ...{ values: { fresh: 940, stale: 40, missing: 8 }, failing: 48, oldestRead: TEST_NOW - 400, series: 2_940 },
    }),
    typeStatus({
      ...{ type: 'INFRA-HOST', state: 'missing', success: false, lastSuccess: undefined, listed: undefined },
      ...{ exported: 0, reporting: 0, leftOut: 0, metrics: [], series: 0, oldestRead: undefined },
      values: { fresh: 0, stale: 0, missing: 0 },
      problem: 'graphql:entities: the list has 12,400 entities, and at most 10,000 are read',
    }),
  ];
}

/** Accounts where much fails, one that cannot be read, and ones whose interface ends; 200 applications fail in two ways. */
export function faulty(): { accounts: AccountStatus[]; blocks: Block[] } {
  const call = 'GET /applications/{id}/metrics/data.json';
  const applications = Array.from({ length: 212 }, (_, index) => {
    return { id: 2_000 + index, name: `billing-${index}`, language: 'java', reporting: true };
  });
  const tasks = applications.map(({ id, name }, index) => {
    const [reason, words] =
      index % 2 === 0
        ? (['timeout', 'no response within 30 s'] as const)
        : (['server', '503 Service Unavailable, after 3 attempts; the service is overloaded'] as const);
    const state = index % 3 === 0 ? ('missing' as const) : ('stale' as const);
    const failed = { state, reason, failures: 1 + (index % 9), problem: `${call}: ${words}`, seconds: 30 };
    return task({ applicationId: id, application: name, ...(index < 200 ? failed : {}) });
  });
  const group = groupStatus({
    ...{ group: 'application_metrics', success: false, tasks: { fresh: 12, stale: 133, missing: 67 } },
  });
  const outage = {
    ...{ since: TEST_NOW - 1_830, reason: 'network' as const, remedy: REMEDIES.network, servedUntil: TEST_NOW + 90 },
    problem: 'GET /applications.json: connect ECONNREFUSED 203.0.113.7:443, after 3 attempts',
  };
  const endOfLife = (days: number) => ({ api: 'rest' as const, endOfLife: TEST_NOW + days * 86_400 });
  return {
    accounts: [
      accountStatus({ name: 'billing', ...endOfLife(60), applications, tasks, groups: [groupStatus(), group] }),
      accountStatus({ name: 'legacy', ...endOfLife(576), up: false }),
      accountStatus({ name: 'europe', up: false, outage, applications: [] }),
      accountStatus({ name: 'search', api: 'nerdgraph', labels: {}, entities: monitoredTypes() }),
    ],
    blocks: applications
      .slice(200, 208)
      .map(({ id, name }, index) => breakdownBlock('billing', id, name, SHAPES[index % SHAPES.length])),
  };
}

const SERVICES =
  'storefront checkout-api payments search catalogue inventory billing gateway recommendations accounts notifications shipping'.split(
    ' ',
  );

/** An account with the services of a shop, which serves the values of each; `burning` puts two of them in trouble. */
export function shop(name = 'production', burning = false, services = SERVICES, firstId = 10_000) {
  const applications = services.map((service, index) => {
    const appName = name === 'production' ? service : `${service}-${name}`;
    const language = ['java', 'ruby', 'go', 'nodejs'][index % 4];
    return { id: firstId + index, name: appName, language, reporting: index !== 11 };
  });
  const blocks = applications.flatMap(({ id, name: app, reporting }, index): Block[] => {
    const isBad = burning && (index === 1 || index === 4);
    const listed = listedBlock(name, id, app, isBad ? 'red' : reporting ? 'green' : 'gray');
    const { response = 0, ...times } = SHAPES[[0, 1, 2, 4][index % 4] ?? 0] ?? {};
    const slower = 1 / (1 + index / 5);
    const values = {
      ...{ response: response * slower, queue: (times.queue ?? 0) * slower, total: (times.total ?? 0) * slower },
      components: Object.fromEntries(
        Object.entries(times.components ?? {}).map(([part, value]) => [part, value * slower]),
      ),
      ...{ requests: 140 / (index + 1), errorRatio: isBad ? 0.49 : 0.002 * (index % 5), apdexThreshold: 0.5 },
      apdexRequests: 42_000 / (index + 1),
      apdexScore: isBad ? 0.27 : 0.99 - 0.01 * (index % 20),
    };
    return reporting ? [listed, breakdownBlock(name, id, app, values)] : [listed];
  });
  const tasks = applications.map(({ id, name: application }) => task({ applicationId: id, application }));
  return { accounts: [accountStatus({ name, labels: {}, api: 'nerdgraph', applications, tasks })], blocks };
}

/** This many accounts, of which every tenth refuses its key. */
export function organisation(count: number): { accounts: AccountStatus[]; blocks: Block[] } {
  const each = Array.from({ length: count }, (_, index) => {
    const { accounts, blocks } = shop(`team ${index + 1}`, false, SERVICES.slice(0, 3), 100 * index);
    const isRefused = index % 10 === 3;
    return isRefused
      ? { accounts: accounts.map((account) => ({ ...account, ...REFUSED })), blocks: [] }
      : { accounts, blocks };
  });
  return { accounts: each.flatMap(({ accounts }) => accounts), blocks: each.flatMap(({ blocks }) => blocks) };
}

/** An account that reads entities of other types only. */
export function entitiesOnly(worst = 'green'): { accounts: AccountStatus[]; blocks: Block[] } {
  const groups = (['entities', 'golden_metrics'] as const).map((group) => groupStatus({ group }));
  const [services = typeStatus()] = monitoredTypes();
  const entities = [services, { ...services, type: 'INFRA-HOST' }];
  const blocks = SERVICES.flatMap((name, index) => [
    ...entityBlocks('production', 'EXT-SERVICE', name, index === 4 ? worst : 'green', {
      ...{ 'Response time': 12.5 * (index + 1), Throughput: 1_200 / (index + 1), 'Error rate': 0.1 * index },
    }),
    ...entityBlocks('production', 'INFRA-HOST', `web-${index}.eu`, 'green', { 'CPU usage': 31.4, Memory: 62.1 }),
  ]);
  return {
    accounts: [accountStatus({ api: 'nerdgraph', groups, applications: undefined, entities, tasks: [task()] })],
    blocks,
  };
}

/** An account of 10,000 applications, each with its values. */
export function large() {
  const services = Array.from({ length: 10_000 }, (_, index) => `service-${index}`);
  return shop('production', false, services);
}

/** An account of which nothing was read yet. */
export function unread(): { accounts: AccountStatus[]; blocks: Block[] } {
  const groups = GROUPS.map((group) =>
    groupStatus({ group, success: undefined, lastSuccess: undefined, tasks: { fresh: 0, stale: 0, missing: 1 } }),
  );
  const tasks = [task({ state: 'missing' })];
  return {
    accounts: [accountStatus({ up: false, applications: undefined, windowEnd: undefined, groups, tasks })],
    blocks: [],
  };
}

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FaultRuleInput } from '../../src/simulator/faults/faultRules.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { until } from '../real/support/until.ts';
import { samplesOf, value, type ParsedFamily } from '../support/exposition.ts';
import { lint } from '../support/expositionLint.ts';
import { account, everyInterval } from './support/config.ts';
import { MovedClock } from './support/movedClock.ts';
import { startExporter, type Exporter } from './support/program.ts';
import { byAccount, entities, sumOf } from './support/states.ts';

// The tests of the readers have every fault; these are a sample of them, each in another kind of call, in a whole program.

/** Every key holds this, so that one search finds any of them. */
const KEY_MARK = 'MATRIXSECRET';
/** The application whose calls are struck, and one whose calls are not. */
const VICTIM = { app_id: '1000001' };
const WITNESS = { app_id: '1000002' };
const clock = new MovedClock();

interface Case {
  readonly name: string;
  readonly rule: FaultRuleInput;
  readonly reason: string;
  readonly group: string;
  readonly endpoint: string;
  /** A family that is there as long as the calls succeed. */
  readonly family: string;
}

const travelled: string[] = [];
const elsewhere = createServer((request, response) => {
  travelled.push(JSON.stringify(request.headers));
  response.end('{"applications":[]}');
});

const app = Number(VICTIM.app_id);
const CASES: readonly Case[] = [
  {
    name: 'a key that is refused and echoed',
    rule: { on: 'applications', effect: 'invalid-key' },
    reason: 'auth',
    group: 'applications',
    endpoint: '/applications.json',
    family: 'newrelic_application_info',
  },
  {
    name: 'a reset connection',
    rule: { on: 'key_transactions', effect: 'reset' },
    reason: 'network',
    group: 'key_transactions',
    endpoint: '/key_transactions.json',
    family: 'newrelic_key_transaction_info',
  },
  {
    name: 'a call that hangs',
    rule: { on: 'hosts', effect: 'hang', app },
    reason: 'timeout',
    group: 'hosts',
    endpoint: '/applications/{id}/hosts.json',
    family: 'newrelic_host_info',
  },
  {
    name: 'a redirect to another origin',
    rule: { on: 'metric_names', effect: 'redirect', location: 'http://127.0.0.1:1/', app },
    reason: 'redirect',
    group: 'metric_names',
    endpoint: '/applications/{id}/metrics.json',
    family: 'newrelic_application_component_time_seconds',
  },
  {
    name: 'a body of 50 MB',
    rule: { on: 'metric_data', effect: 'huge', megabytes: 50, app },
    reason: 'too_large',
    group: 'application_metrics',
    endpoint: '/applications/{id}/metrics/data.json',
    family: 'newrelic_application_memory_used_bytes',
  },
];
const nameOf = (index: number): string => `case-${index}`;

const simulators: Simulator[] = [];
const pages: string[] = [];
let exporter: Exporter;
let families: readonly ParsedFamily[] = [];

function strike(): void {
  const { port } = elsewhere.address() as AddressInfo;
  for (const [index, { rule }] of CASES.entries()) {
    const away = rule.effect === 'redirect' ? { location: `http://127.0.0.1:${port}/v2/x.json` } : {};
    simulators[index]?.faults.add({ ...rule, ...away });
  }
}

/** The families of an answer with the samples of one account. */
type View = readonly ParsedFamily[];

/** Scrapes until no account has a complaint; then, or after a minute and a half, what there is to complain about. */
async function complaintsOf(complaints: (view: View, each: Case) => object): Promise<void> {
  let left: unknown[] = [];
  await until(
    'nothing to complain about',
    async () => {
      families = await exporter.scrape('/metrics', 2);
      const view = byAccount(families);
      left = CASES.flatMap((each, index) => {
        const wrong = Object.entries(complaints(view(nameOf(index)), each)).filter(([, isTrue]) => isTrue !== true);
        return wrong.length === 0 ? [] : [{ [each.name]: wrong.map(([what]) => what) }];
      });
      return left.length === 0 ? true : undefined;
    },
    90_000,
  ).catch(() => expect(left).toEqual([]));
}

const labelsOf = ({ rule }: Case): Readonly<Record<string, string>> => (rule.app === undefined ? {} : VICTIM);

const failures = (view: View, { endpoint, reason }: Pick<Case, 'endpoint' | 'reason'>): number =>
  sumOf(view, 'newrelic_exporter_api_failures_total', { endpoint, reason });
const success = (view: View, group: string): number | undefined =>
  value(view, 'newrelic_exporter_collection_success', { group });
const has = (view: View, family: string, labels: Readonly<Record<string, string>> = {}): boolean =>
  samplesOf(view, family, labels).length > 0;

const isWhole = (view: View): object => ({
  up: value(view, 'newrelic_up') === 1,
  'nothing is missing or stale': entities(view, 'missing') === 0 && entities(view, 'stale') === 0,
  ...Object.fromEntries(CASES.map(({ family }) => [family, has(view, family)])),
  'the success of every group': CASES.every(({ group }) => success(view, group) === 1),
});

/** Every page, for the search for keys. */
async function lookAround(): Promise<void> {
  const probes = CASES.map((_, index) => `/probe?account=${nameOf(index)}&app_id=${VICTIM.app_id}&debug=true`);
  for (const path of ['/metrics', '/', '/api/status', '/config', '/sd', ...probes]) {
    const answer = await exporter.get(path, { 'X-Prometheus-Scrape-Timeout-Seconds': '2' });
    pages.push(`${path} ${answer.status}\n${await answer.text()}`);
  }
}

beforeAll(async () => {
  elsewhere.listen(0, '127.0.0.1');
  const limits = { request_timeout: '4s', max_concurrent_requests: 1, max_retries: 1, requests_per_minute: 5000 };
  const accounts = [];
  for (const index of CASES.keys()) {
    const api_key = `NRAK-${KEY_MARK}${index}`;
    const world = { applications: 2, hostsPerApplication: 2, keyTransactions: 2, now: clock.now };
    const simulator = await startSimulator({ ...world, apiKeys: [api_key] });
    simulators.push(simulator);
    accounts.push(account(simulator, nameOf(index), { api_key, limits }));
  }
  strike();
  exporter = await startExporter({
    ...clock.program,
    config: { accounts, collection: { window: '5m', intervals: everyInterval('1s') } },
    flags: ['--log.level=debug'],
  });
});

afterAll(async () => {
  clock.close();
  elsewhere.close();
  elsewhere.closeAllConnections();
  await exporter.stop();
  await Promise.all(simulators.map((simulator) => simulator.close()));
});

describe('a fault of New Relic', () => {
  test('from the start fails what it is about with its reason, and nothing else', async () => {
    await complaintsOf((view, each) => ({
      'it is counted with its reason': failures(view, each) > 0,
      up: value(view, 'newrelic_up') === (each.group === 'applications' ? 0 : 1),
      'the success of the group': success(view, each.group) === 0,
      'what is missing': entities(view, 'missing', { group: each.group }) > 0,
      'no family of the call': !has(view, each.family, labelsOf(each)),
      'the data of the others':
        each.group === 'applications' || has(view, 'newrelic_application_memory_used_bytes', WITNESS),
    }));
    await lookAround();
  });

  test('that is over leaves nothing missing, without a restart', async () => {
    for (const simulator of simulators) simulator.faults.clear();
    // What was left out of a good answer comes back with the next window.
    clock.minutesLater(1);
    await complaintsOf(isWhole);
  });

  test('while values are held makes them stale and takes none away; over, all are fresh again', async () => {
    const before = byAccount(families);
    const counted = CASES.map((each, index) => failures(before(nameOf(index)), each));
    strike();
    clock.minutesLater(1);
    await complaintsOf((view, each) => ({
      'it is counted': failures(view, each) > counted[CASES.indexOf(each)]!,
      up: value(view, 'newrelic_up') === (each.group === 'applications' ? 0 : 1),
      'the success of the group': success(view, each.group) === 0,
      'nothing is missing': entities(view, 'missing') === 0,
      'the last good values': has(view, each.family, each.group === 'metric_names' ? {} : labelsOf(each)),
    }));
    await lookAround();
    for (const simulator of simulators) simulator.faults.clear();
    clock.minutesLater(1);
    await complaintsOf(isWhole);
  });

  test('leaves the process healthy, without the memory of large bodies, and its keys to itself', async () => {
    expect((await exporter.get('/-/healthy')).status).toBe(200);
    expect(value(families, 'process_resident_memory_bytes')).toBeLessThan(800 * 1024 * 1024);
    expect(lint(families)).toEqual([]);
    expect(exporter.output()).not.toMatch(/unhandled|uncaught|Unexpected error|could not be answered/i);
    await lookAround();
    for (const page of pages) expect(page.split('\n')[0]).toMatch(/ 200$|^\/sd 503$|^\/probe.* (200|404)$/);
    for (const text of [...pages, exporter.output()]) {
      const at = text.indexOf(KEY_MARK);
      expect(at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 60)).toBe('');
    }
    expect(travelled).toEqual([]);
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import type { EntryStatus, AccountStatus } from '../../src/collect/accountStatus.ts';
import type { Format } from '../../src/exposition/formats.ts';
import { EXPORTER_FAMILIES } from '../../src/metrics/catalogueExporter.ts';
import type { Block } from '../../src/metrics/sample.ts';
import { Telemetry } from '../../src/telemetry/telemetry.ts';
import { parseOpenMetrics, parseText, samplesOf, value, type ParsedFamily } from '../support/exposition.ts';
import { block, gauge, render, written } from '../support/expositionBlocks.ts';
import { lint } from '../support/expositionLint.ts';
import { accountStatus, groupStatus, queryStatus, typeStatus } from '../web/support/collector.ts';

const DATA = '/applications/{id}/metrics/data.json';

const GROUP = groupStatus({
  group: 'application_metrics',
  effectiveIntervalSeconds: 90,
  lastSuccess: 1_700_000_000,
  durationSeconds: 1.5,
  tasks: { fresh: 3, stale: 2, missing: 1 },
  oldestWindowEnd: 1_699_999_000,
});

const SERVICES = typeStatus();

const QUERY = queryStatus();

function account(name: string, changes: Partial<AccountStatus> = {}): AccountStatus {
  return accountStatus({
    name,
    endOfLife: 1_816_992_000,
    labels: {},
    applicationCounts: { listed: 14, exported: 12, reporting: 10 },
    windowEnd: 1_700_000_060,
    groups: [GROUP],
    budget: { configured: 600, inForce: 300, lastMinute: 10, inFlight: 0, pausedUntil: undefined },
    ...changes,
  });
}

const ENTRY: EntryStatus = {
  ...{
    entry: 'all',
    labels: { team: 'x' },
    success: undefined,
    reason: undefined,
    problem: undefined,
    remedy: undefined,
    since: undefined,
  },
  ...{ refused: undefined, isEmpty: true, listed: undefined, exported: undefined, leftOut: undefined },
  ...{ accounts: [], warnings: [], missingMetrics: [] },
};

let telemetry: Telemetry;

beforeEach(() => {
  telemetry = new Telemetry({ version: '1.2.3', revision: 'abc', processMetrics: true });
});

async function body(statuses: readonly AccountStatus[], format: Format = 'text'): Promise<string> {
  const { pieces } = await render([], { own: await telemetry.own(statuses, [], new Map()), format });
  return Buffer.concat(pieces).toString('utf8');
}

async function scrape(...statuses: readonly AccountStatus[]): Promise<ParsedFamily[]> {
  return parseText(await body(statuses));
}

describe("the exporter's own metrics", () => {
  it('say how each account and each of its groups is', async () => {
    const families = await scrape(account('a'), account('b', { up: false, groups: [] }));
    const group = { account: 'a', group: 'application_metrics' };
    expect(samplesOf(families, 'newrelic_up').map((sample) => [sample.labels, sample.value])).toEqual([
      [{ account: 'a' }, 1],
      [{ account: 'b' }, 0],
    ]);
    const expected = {
      newrelic_exporter_collection_success: 1,
      newrelic_exporter_collection_last_success_timestamp_seconds: 1_700_000_000,
      newrelic_exporter_collection_duration_seconds: 1.5,
      newrelic_exporter_oldest_window_end_timestamp_seconds: 1_699_999_000,
      newrelic_exporter_effective_interval_seconds: 90,
    };
    for (const [name, wanted] of Object.entries(expected)) {
      expect(samplesOf(families, name).map((sample) => [sample.labels, sample.value])).toEqual([[group, wanted]]);
    }
    const entities = samplesOf(families, 'newrelic_exporter_collection_entities', group);
    expect(entities.map((sample) => [sample.labels['state'], sample.value])).toEqual([
      ['fresh', 3],
      ['stale', 2],
      ['missing', 1],
    ]);
    expect(value(families, 'newrelic_exporter_window_end_timestamp_seconds', { account: 'a' })).toBe(1_700_000_060);
    expect(value(families, 'newrelic_exporter_api_budget_requests_per_minute', { account: 'a' })).toBe(300);
  });

  it('are absent where nothing is known yet, and where nothing is paused', async () => {
    const unknown = {
      success: undefined,
      lastSuccess: undefined,
      durationSeconds: undefined,
      oldestWindowEnd: undefined,
    };
    const families = await scrape(account('a', { windowEnd: undefined, groups: [{ ...GROUP, ...unknown }] }));
    for (const name of [
      'newrelic_exporter_collection_success',
      'newrelic_exporter_collection_last_success_timestamp_seconds',
      'newrelic_exporter_collection_duration_seconds',
      'newrelic_exporter_window_end_timestamp_seconds',
      'newrelic_exporter_oldest_window_end_timestamp_seconds',
      'newrelic_exporter_api_paused_until_timestamp_seconds',
      'newrelic_exporter_config_last_reload_successful',
      'newrelic_exporter_config_last_reload_success_timestamp_seconds',
    ]) {
      expect(families.find((family) => family.name === name)).toBeUndefined();
    }
  });

  it('give the time a pause ends, and a failed refresh as 0', async () => {
    const paused = { ...account('a').budget, pausedUntil: 1_700_000_300.5 };
    const families = await scrape(account('a', { budget: paused, groups: [{ ...GROUP, success: false }] }));
    expect(value(families, 'newrelic_exporter_api_paused_until_timestamp_seconds')).toBe(1_700_000_300.5);
    expect(value(families, 'newrelic_exporter_collection_success')).toBe(0);
  });

  it('count calls by endpoint and code, failures by reason, retries, and calls in flight', async () => {
    const observer = telemetry.observer('a');
    observer.started(DATA);
    observer.started(DATA);
    observer.started('/applications.json');
    observer.ended(DATA, 200, 0.3);
    observer.failed(DATA, 'server', 'status 503');
    observer.retried(DATA, 'server', 1000);
    observer.ended(DATA, 'error', 10);
    const families = await scrape(account('a'));
    const count = (name: string, labels: Record<string, string> = {}) =>
      value(families, name, { account: 'a', ...labels });
    expect(count('newrelic_exporter_api_requests_total', { endpoint: DATA, code: '200' })).toBe(1);
    expect(count('newrelic_exporter_api_requests_total', { endpoint: DATA, code: 'error' })).toBe(1);
    expect(count('newrelic_exporter_api_failures_total', { endpoint: DATA, reason: 'server' })).toBe(1);
    expect(count('newrelic_exporter_api_failures_total', { endpoint: DATA, reason: 'auth' })).toBe(0);
    expect(count('newrelic_exporter_api_retries_total')).toBe(1);
    expect(count('newrelic_exporter_api_requests_in_flight')).toBe(1);
    const duration = 'newrelic_exporter_api_request_duration_seconds';
    expect(count(`${duration}_count`, { endpoint: DATA })).toBe(2);
    expect(count(`${duration}_bucket`, { endpoint: DATA, le: '0.25' })).toBe(0);
    expect(count(`${duration}_bucket`, { endpoint: DATA, le: '0.5' })).toBe(1);
    expect(count(`${duration}_sum`, { endpoint: DATA })).toBe(10.3);
  });

  it('start at 0 where the series is known beforehand', async () => {
    const families = await scrape(account('a'));
    expect(value(families, 'newrelic_exporter_api_retries_total', { account: 'a' })).toBe(0);
    expect(value(families, 'newrelic_exporter_api_requests_in_flight', { account: 'a' })).toBe(0);
    expect(value(families, 'newrelic_exporter_scrapes_total', { result: 'complete' })).toBe(0);
    expect(value(families, 'newrelic_exporter_scrapes_total', { result: 'partial' })).toBe(0);
  });

  it('count scrapes, and tell of reloads and of the build', async () => {
    telemetry.scraped('partial');
    telemetry.reloaded(true, 1_700_000_000_500);
    telemetry.reloaded(false, 1_800_000_000_000);
    const families = await scrape();
    expect(value(families, 'newrelic_exporter_scrapes_total', { result: 'partial' })).toBe(1);
    expect(value(families, 'newrelic_exporter_config_last_reload_successful')).toBe(0);
    expect(value(families, 'newrelic_exporter_config_last_reload_success_timestamp_seconds')).toBe(1_700_000_000.5);
    const build = { version: '1.2.3', revision: 'abc', node_version: process.version };
    expect(value(families, 'newrelic_exporter_build_info', build)).toBe(1);
  });

  it('say how many series the exposition has of each family, and count what was cut, once for each refresh', async () => {
    const [small, large] = [gauge('newrelic_small'), gauge('newrelic_large')];
    const [first, second] = ['1', '2'].map((app_id) =>
      block(
        { app_id },
        app_id === '1'
          ? [
              [small, 1],
              [large, 1],
            ]
          : [[large, 1]],
      ),
    );
    if (first === undefined || second === undefined) throw new Error('there are two blocks');
    const read = written(first);
    const cutTo = async (maxSeries: number, other: Block) => {
      const { families, dropped: leftOut } = await render([read, other], { maxSeries });
      telemetry.dropped(leftOut);
      const own = await telemetry.own([], [], families);
      return parseText(Buffer.from((await render([], { own })).text));
    };
    const dropped = 'newrelic_exporter_series_dropped_total';
    const other = written(second);
    const whole = await cutTo(3, other);
    expect(value(whole, 'newrelic_exporter_series', { family: 'newrelic_large' })).toBe(2);
    expect(value(whole, dropped, { family: 'newrelic_large' })).toBe(0);
    await cutTo(2, other);
    const cut = await cutTo(2, other);
    expect(value(cut, 'newrelic_exporter_series', { family: 'newrelic_large' })).toBeUndefined();
    expect(value(cut, 'newrelic_exporter_series', { family: 'newrelic_small' })).toBe(1);
    expect(value(cut, dropped, { family: 'newrelic_large' })).toBe(2);
    const refreshed = await cutTo(2, written(second));
    expect(value(refreshed, dropped, { family: 'newrelic_large' })).toBe(3);
    const [earlier, later] = [
      { family: 'newrelic_custom', series: 3, reading: {} },
      { family: 'newrelic_custom', series: 4, reading: {} },
    ] as const;
    // A probe may answer with what was read before the values of the last scrape.
    telemetry.dropped([later]);
    telemetry.dropped([earlier, later]);
    expect(value(await cutTo(3, other), dropped, { family: 'newrelic_custom' })).toBe(7);
  });

  it('carry the static labels of their account, where they carry an account at all', async () => {
    telemetry.observer('a').ended(DATA, 200, 1);
    const families = await scrape(account('a', { labels: { team: 'payments' } }), account('b'));
    const samples = families.flatMap((family) => family.samples);
    const wrong = samples.filter(({ labels }) => (labels['account'] === 'a') !== (labels['team'] === 'payments'));
    expect(wrong).toEqual([]);
    expect(
      samplesOf(families, 'newrelic_exporter_api_request_duration_seconds_bucket', { team: 'payments' }),
    ).not.toEqual([]);
  });

  it('end with their account: counters too, and calls that come back late', async () => {
    const observer = telemetry.observer('gone');
    observer.started(DATA);
    telemetry.observer('kept').ended(DATA, 200, 1);
    expect(await body([account('gone'), account('kept')])).toContain('"gone"');
    telemetry.keepAccounts(['kept']);
    observer.ended(DATA, 200, 1);
    const families = await scrape(account('kept'));
    expect(families.flatMap(({ samples }) => samples).filter(({ labels }) => labels['account'] === 'gone')).toEqual([]);
    expect(value(families, 'newrelic_exporter_api_requests_total', { account: 'kept' })).toBe(1);
    const back = await scrape(account('gone'));
    expect(value(back, 'newrelic_exporter_api_requests_in_flight', { account: 'gone' })).toBe(0);
    expect(value(back, 'newrelic_exporter_api_requests_total', { account: 'gone' })).toBeUndefined();
  });

  it('count the calls that NerdGraph accounts split, from 0 on, and name the interface of every account', async () => {
    const nerdgraph = account('ng', { api: 'nerdgraph', region: '', endOfLife: undefined });
    telemetry.observer('ng').split('truncated');
    const families = await scrape(nerdgraph, account('a'));
    const splits = samplesOf(families, 'newrelic_exporter_api_batches_split_total');
    expect(splits.map(({ labels, value: count }) => [labels['account'], labels['reason'], count])).toEqual([
      ['ng', 'truncated', 1],
      ['ng', 'timeout', 0],
      ['ng', 'error', 0],
    ]);
    const info = 'newrelic_exporter_account_info';
    expect(value(families, info, { account: 'ng', api: 'nerdgraph', region: '' })).toBe(1);
    expect(value(families, info, { account: 'a', api: 'rest', region: 'us' })).toBe(1);
    const end = 'newrelic_exporter_api_end_of_life_timestamp_seconds';
    expect(samplesOf(families, end).map(({ labels, value: time }) => [labels['account'], time])).toEqual([
      ['a', 1_816_992_000],
    ]);
  });

  it('say of each query how it went, and how many of its rows became no series', async () => {
    const failed = { ...QUERY, name: 'failed', success: false, state: 'missing', series: 0 } as const;
    const untried = { ...QUERY, name: 'untried', success: undefined, seconds: undefined } as const;
    const text = await body([account('a', { queries: [QUERY, failed, untried] })]);
    expect(text).toContain('newrelic_exporter_query_success{account="a",query="orders"} 1\n');
    expect(text).toContain('newrelic_exporter_query_success{account="a",query="failed"} 0\n');
    expect(text).not.toContain('newrelic_exporter_query_success{account="a",query="untried"}');
    expect(text).toContain('newrelic_exporter_query_duration_seconds{account="a",query="orders"} 0.2\n');
    expect(text).toContain('newrelic_exporter_query_series{account="a",query="orders"} 11\n');
    const dropped = 'newrelic_exporter_query_rows_dropped_total{account="a",query="orders",reason=';
    expect(text).toContain(`${dropped}"repeated"} 1\n`);
    expect(text).toContain(`${dropped}"not_a_number"} 0\n`);
  });

  it('say of an entry with account_ids how its list is, and that nothing is read before it leaves an account', async () => {
    telemetry.observer('all').ended('graphql:accounts', 200, 1);
    const own = async (over: Partial<EntryStatus>): Promise<string> =>
      (await render([], { own: await telemetry.own([], [{ ...ENTRY, ...over }], new Map()) })).text;
    const before = await own({});
    expect(before).toContain('newrelic_up{account="all",team="x"} 0\n');
    expect(before).toContain(
      'newrelic_exporter_api_requests_total{account="all",endpoint="graphql:accounts",code="200",team="x"} 1',
    );
    expect(before).not.toMatch(/account_list_success\{|exporter_accounts/);
    const after = await own({ isEmpty: false, success: false, listed: 3, exported: 2, leftOut: 1 });
    expect(after).not.toContain('newrelic_up{');
    for (const series of [
      'account_list_success{entry="all"} 0',
      'accounts{entry="all",state="listed"} 3',
      'accounts{entry="all",state="exported"} 2',
      'accounts_left_out{entry="all"} 1',
    ]) {
      expect(after).toContain(`newrelic_exporter_${series}\n`);
    }
  });

  it('have the number of each account, which takes precedence over a static label of that name', async () => {
    const text = await body([account('a', { accountId: 7, labels: { account_id: 'own' } }), account('b')]);
    expect(text).toContain('newrelic_exporter_account_info{account="a",api="rest",region="us",account_id="7"} 1\n');
    expect(text).toContain('newrelic_exporter_account_info{account="b",api="rest",region="us",account_id=""');
    expect(text).toMatch(/^newrelic_up\{account="a",account_id="own"\} 1$/m);
  });

  it('are of the names, types and labels of the catalogue, every one of them', async () => {
    telemetry.reloaded(true, 1_700_000_000_000);
    telemetry.observer('a').started(DATA);
    telemetry.observer('a').ended(DATA, 200, 1);
    const paused = { ...account('a').budget, pausedUntil: 1_700_000_300 };
    const blocks = [block({ app_id: '1' }, [[gauge('newrelic_x'), 1]])];
    const counters = { lostSeconds: 60, lateTransactions: 5 };
    const statuses = [account('a', { budget: paused, counters, entities: [SERVICES], queries: [QUERY] })];
    const entry = { entry: 'e', labels: {}, isEmpty: true, success: true, listed: 3, exported: 2, leftOut: 1 };
    const own = await telemetry.own(statuses, [{ ...ENTRY, ...entry }], new Map([['newrelic_x', { series: 1 }]]));
    const { pieces } = await render(blocks.map(written), { own });
    const families = parseText(Buffer.concat(pieces));
    const shapes = families.map(({ name, type, help, samples }) => {
      const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)).filter((label) => label !== 'le'));
      return { name, type, help, labels: [...labels].sort() };
    });
    // The REST interface splits no calls.
    const absent = /_api_batches_split_total$/;
    const present = EXPORTER_FAMILIES.filter(({ name }) => !absent.test(name));
    const catalogue = present.map(({ name, type, help, labelNames }) => {
      return { name, type, help, labels: [...labelNames].sort() };
    });
    expect(shapes.filter(({ name }) => /^newrelic_(?:up|exporter_)/.test(name))).toEqual(catalogue);
    expect(lint(families)).toEqual([]);
  });

  it('come with those of the process, but for the three that promtool refuses', async () => {
    const families = await scrape();
    const names = families.map(({ name }) => name);
    expect(names).toContain('process_cpu_user_seconds_total');
    expect(names).toContain('nodejs_heap_size_used_bytes');
    expect(names.filter((name) => name.startsWith('nodejs_active_') && name.endsWith('_total'))).toEqual([]);
    expect(names, 'measured from one answer to the next').not.toContain('nodejs_eventloop_lag_seconds');
    expect(lint(families)).toEqual([]);
  });

  it('have no event loop lag where none was measured since the last exposition', async () => {
    const lag = /^nodejs_eventloop_lag_(?:min|max|mean|stddev|p\d\d)_seconds$/;
    await scrape();
    const families = await scrape();
    const known = families.filter(({ name }) => lag.test(name)).flatMap(({ samples }) => samples);
    expect(known.filter((sample) => sample.value > 3600)).toEqual([]);
  });

  it('are the same in both formats, whichever is asked for first', async () => {
    telemetry.observer('a').ended(DATA, 200, 1);
    const own = /^newrelic_/;
    const seen: unknown[] = [];
    for (const format of ['openmetrics', 'text', 'openmetrics', 'text'] as const) {
      const text = await body([account('a')], format);
      const families = format === 'text' ? parseText(text) : parseOpenMetrics(text);
      const samples = families.flatMap((family) => family.samples).filter(({ name }) => own.test(name));
      seen.push(samples.map(({ name, labels, value: one }) => [name, { ...labels, le: Number(labels['le']) }, one]));
    }
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
    expect(seen[3]).toEqual(seen[0]);
  });
});

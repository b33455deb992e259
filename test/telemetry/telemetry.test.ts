import { beforeEach, describe, expect, it } from 'vitest';
import type { CallObserver } from '../../src/api/upstreamReader.ts';
import type { EntryStatus, AccountStatus } from '../../src/collect/serve/accountStatus.ts';
import type { Format } from '../../src/exposition/formats.ts';
import { EXPORTER_FAMILIES } from '../../src/metrics/catalogueExporter.ts';
import type { Block } from '../../src/metrics/writeSamples.ts';
import { Telemetry } from '../../src/telemetry/telemetry.ts';
import { parseOpenMetrics, parseText, value, type ParsedFamily } from '../support/exposition.ts';
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
  ...{ entry: 'all', labels: { team: 'x' }, success: undefined, reason: undefined, problem: undefined },
  ...{ remedy: undefined, since: undefined, refused: undefined, isEmpty: true, listed: undefined },
  ...{ exported: undefined, leftOut: undefined, accounts: [], warnings: [], missingMetrics: [] },
};

let telemetry: Telemetry;

beforeEach(() => {
  telemetry = new Telemetry({ version: '1.2.3', revision: 'abc', processMetrics: true, droppedLines: () => 0 });
});

async function body(statuses: readonly AccountStatus[], format: Format = 'text'): Promise<string> {
  const { pieces } = await render([], { own: await telemetry.readFamilies(statuses, [], new Map()), format });
  return Buffer.concat(pieces).toString('utf8');
}

async function scrape(...statuses: readonly AccountStatus[]): Promise<ParsedFamily[]> {
  return parseText(await body(statuses));
}

/** Whether an exposition has these lines, without `newrelic_exporter_` before them, and none of these families. */
function expectLines(text: string, lines: string, ...absent: readonly string[]): void {
  for (const line of lines.trim().split(/\n\s*/)) {
    expect(text).toContain(`\n${line.startsWith('newrelic_') ? '' : 'newrelic_exporter_'}${line}\n`);
  }
  for (const family of absent) expect(text).not.toMatch(new RegExp(`^newrelic_(?:exporter_)?${family}`, 'm'));
}

describe("the exporter's own metrics", () => {
  it('report the state of each account and each of its groups', async () => {
    const group = 'account="a",group="application_metrics"';
    const lines = `
      newrelic_up{account="a"} 1
      newrelic_up{account="b"} 0
      window_end_timestamp_seconds{account="a"} 1700000060
      api_budget_requests_per_minute{account="a"} 300
      collection_success{${group}} 1
      collection_last_success_timestamp_seconds{${group}} 1700000000
      collection_duration_seconds{${group}} 1.5
      collection_entities{${group},state="fresh"} 3
      collection_entities{${group},state="stale"} 2
      collection_entities{${group},state="missing"} 1
      oldest_window_end_timestamp_seconds{${group}} 1699999000
      effective_interval_seconds{${group}} 90`;
    const text = await body([account('a'), account('b', { up: false, groups: [] })]);
    expectLines(text, lines, 'api_paused_until', 'config_last_reload', 'collection_[^{]*{account="b"');
  });

  it('are absent where their values are not known yet', async () => {
    const unknown = { success: undefined, lastSuccess: undefined, durationSeconds: undefined };
    const groups = [{ ...GROUP, ...unknown, oldestWindowEnd: undefined }];
    const text = await body([account('a', { windowEnd: undefined, groups })]);
    const absent = ['collection_success', 'collection_last', 'collection_duration', '(?:oldest_)?window_end'];
    expectLines(text, 'newrelic_up{account="a"} 1', ...absent);
  });

  it('report the end of a pause, a failed refresh as 0, and the interface of every account', async () => {
    const paused = { ...account('a').budget, pausedUntil: 1_700_000_300.5 };
    const rest = account('a', { budget: paused, groups: [{ ...GROUP, success: false }], accountId: 7 });
    const nerdgraph = account('ng', { api: 'nerdgraph', region: '', endOfLife: undefined });
    telemetry.observer('ng').split('truncated');
    const lines = `
      api_paused_until_timestamp_seconds{account="a"} 1700000300.5
      api_end_of_life_timestamp_seconds{account="a"} 1816992000
      collection_success{account="a",group="application_metrics"} 0
      account_info{account="a",api="rest",region="us",account_id="7"} 1
      account_info{account="ng",api="nerdgraph",region="",account_id=""} 1
      api_batches_split_total{account="ng",reason="truncated"} 1
      api_batches_split_total{account="ng",reason="timeout"} 0
      api_batches_split_total{account="ng",reason="error"} 0`;
    const absent = ['api_end_of_life_timestamp_seconds{account="ng"', 'api_batches_split_total{account="a"'];
    expectLines(await body([rest, nerdgraph]), lines, ...absent);
  });

  it('count calls by endpoint and code, failures by reason, retries, calls in flight and scrapes, starting at 0', async () => {
    const observer: Omit<CallObserver, 'leftOut' | 'serviceMessage'> = telemetry.observer('a');
    const first = `
      api_retries_total{account="a"} 0
      api_requests_in_flight{account="a"} 0
      scrapes_total{result="complete"} 0
      scrapes_total{result="partial"} 0`;
    expectLines(await body([account('a')]), first);
    observer.started(DATA);
    observer.started(DATA);
    observer.started('/applications.json');
    observer.ended(DATA, 200, 0.3);
    observer.failed(DATA, 'server', 'status 503');
    observer.retried(DATA, 'server', 1000);
    observer.ended(DATA, 'error', 10);
    telemetry.scrapes.inc({ result: 'partial' });
    const labels = `account="a",endpoint="${DATA}"`;
    const then = `
      api_requests_total{${labels},code="200"} 1
      api_requests_total{${labels},code="error"} 1
      api_failures_total{${labels},reason="server"} 1
      api_failures_total{${labels},reason="auth"} 0
      api_retries_total{account="a"} 1
      api_requests_in_flight{account="a"} 1
      scrapes_total{result="partial"} 1
      api_request_duration_seconds_bucket{${labels},le="0.25"} 0
      api_request_duration_seconds_bucket{${labels},le="0.5"} 1
      api_request_duration_seconds_sum{${labels}} 10.3
      api_request_duration_seconds_count{${labels}} 2`;
    expectLines(await body([account('a')]), then);
  });

  it('report reloads and the build', async () => {
    telemetry.reloaded(true, 1_700_000_000_500);
    telemetry.reloaded(false, 1_800_000_000_000);
    const lines = `
      config_last_reload_successful 0
      config_last_reload_success_timestamp_seconds 1700000000.5
      build_info{version="1.2.3",revision="abc",node_version="${process.version}"} 1`;
    expectLines(await body([]), lines);
  });

  it('report the number of series of each family, and count dropped series once for each refresh', async () => {
    const [small, large] = [gauge('newrelic_small'), gauge('newrelic_large')];
    const read = written(
      block(
        { app_id: '1' },
        [small, large].map((family) => [family, 1]),
      ),
    );
    const refresh = (): Block => written(block({ app_id: '2' }, [[large, 1]]));
    const cutTo = async (maxSeries: number, other: Block) => {
      const { families, dropped: leftOut } = await render([read, other], { maxSeries });
      telemetry.dropped(leftOut);
      const ownFamilies = await telemetry.readFamilies([], [], families);
      return parseText(Buffer.from((await render([], { own: ownFamilies })).text));
    };
    const dropped = 'newrelic_exporter_series_dropped_total';
    const other = refresh();
    const whole = await cutTo(3, other);
    expect(value(whole, 'newrelic_exporter_series', { family: 'newrelic_large' })).toBe(2);
    expect(value(whole, dropped, { family: 'newrelic_large' })).toBe(0);
    await cutTo(2, other);
    const cut = await cutTo(2, other);
    expect(value(cut, 'newrelic_exporter_series', { family: 'newrelic_large' })).toBeUndefined();
    expect(value(cut, 'newrelic_exporter_series', { family: 'newrelic_small' })).toBe(1);
    expect(value(cut, dropped, { family: 'newrelic_large' })).toBe(2);
    const refreshed = await cutTo(2, refresh());
    expect(value(refreshed, dropped, { family: 'newrelic_large' })).toBe(3);
    const ofCustom = (series: number) => ({ family: 'newrelic_custom', series, reading: {} });
    const [earlier, later] = [ofCustom(3), ofCustom(4)];
    // A probe may answer with what was read before the values of the last scrape.
    telemetry.dropped([later]);
    telemetry.dropped([earlier, later]);
    expect(value(await cutTo(3, other), dropped, { family: 'newrelic_custom' })).toBe(7);
  });

  it('have the static labels of their account, where they have an account; labels of a family win', async () => {
    telemetry.observer('a').ended(DATA, 200, 1);
    const labels = { team: 'payments', account_id: 'own' };
    const families = await scrape(account('a', { accountId: 7, labels }), account('b'));
    const samples = families.flatMap((family) => family.samples);
    const isOfA = (sample: (typeof samples)[number]) => sample.labels['account'] === 'a';
    expect(samples.filter((sample) => isOfA(sample) !== (sample.labels['team'] === 'payments'))).toEqual([]);
    const ids = samples.filter((sample) => isOfA(sample) && sample.labels['account_id'] !== 'own');
    expect(ids.map(({ name, labels: { account_id } }) => [name, account_id])).toEqual([
      ['newrelic_exporter_account_info', '7'],
    ]);
  });

  it('end with their account, also counters and late responses', async () => {
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

  it('report the result of each query, and the number of its rows without a series', async () => {
    const failed = { ...QUERY, name: 'failed', success: false, state: 'missing', series: 0 } as const;
    const untried = { ...QUERY, name: 'untried', success: undefined, seconds: undefined } as const;
    const lines = `
      query_success{account="a",query="orders"} 1
      query_success{account="a",query="failed"} 0
      query_duration_seconds{account="a",query="orders"} 0.2
      query_series{account="a",query="orders"} 11
      query_rows_dropped_total{account="a",query="orders",reason="repeated"} 1
      query_rows_dropped_total{account="a",query="orders",reason="not_a_number"} 0`;
    const text = await body([account('a', { queries: [QUERY, failed, untried] })]);
    expectLines(text, lines, 'query_success{account="a",query="untried"');
  });

  it('report the list of an entry with account_ids, and newrelic_up 0 until the entry has an account', async () => {
    telemetry.observer('all').ended('graphql:accounts', 200, 1);
    const body = async (over: Partial<EntryStatus>): Promise<string> =>
      (await render([], { own: await telemetry.readFamilies([], [{ ...ENTRY, ...over }], new Map()) })).text;
    const before = `
      newrelic_up{account="all",team="x"} 0
      api_requests_total{account="all",endpoint="graphql:accounts",code="200",team="x"} 1`;
    expectLines(await body({}), before, 'account_list_success', 'accounts');
    const after = `
      account_list_success{entry="all"} 0
      accounts{entry="all",state="listed"} 3
      accounts{entry="all",state="exported"} 2
      accounts_left_out{entry="all"} 1`;
    expectLines(await body({ isEmpty: false, success: false, listed: 3, exported: 2, leftOut: 1 }), after, 'up{');
  });

  it('have the names, types and labels of the catalogue, and are complete', async () => {
    telemetry.reloaded(true, 1_700_000_000_000);
    telemetry.observer('a').started(DATA);
    telemetry.observer('a').ended(DATA, 200, 1);
    const paused = { ...account('a').budget, pausedUntil: 1_700_000_300 };
    const blocks = [block({ app_id: '1' }, [[gauge('newrelic_x'), 1]])];
    const counters = { lostSeconds: 60, lateTransactions: 5 };
    const statuses = [account('a', { budget: paused, counters, entities: [typeStatus()], queries: [QUERY] })];
    const entry = { entry: 'e', labels: {}, isEmpty: true, success: true, listed: 3, exported: 2, leftOut: 1 };
    const ownFamilies = await telemetry.readFamilies(
      statuses,
      [{ ...ENTRY, ...entry }],
      new Map([['newrelic_x', { series: 1 }]]),
    );
    const { pieces } = await render(blocks.map(written), { own: ownFamilies });
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

  it('include the metrics of the process, except three that promtool refuses', async () => {
    const families = await scrape();
    const names = families.map(({ name }) => name);
    expect(names).toContain('process_cpu_user_seconds_total');
    expect(names).toContain('nodejs_heap_size_used_bytes');
    expect(names.filter((name) => name.startsWith('nodejs_active_') && name.endsWith('_total'))).toEqual([]);
    expect(names, 'measured from one exposition to the next').not.toContain('nodejs_eventloop_lag_seconds');
    expect(lint(families)).toEqual([]);
  });

  it('have no event loop lag where none was measured since the last exposition', async () => {
    const lag = /^nodejs_eventloop_lag_(?:min|max|mean|stddev|p\d\d)_seconds$/;
    await scrape();
    const families = await scrape();
    const known = families.filter(({ name }) => lag.test(name)).flatMap(({ samples }) => samples);
    expect(known.filter((sample) => sample.value > 3600)).toEqual([]);
  });

  it('are the same in both formats, in either order of requests', async () => {
    telemetry.observer('a').ended(DATA, 200, 1);
    const ours = /^newrelic_/;
    const seen = new Set<string>();
    for (const format of ['openmetrics', 'text', 'openmetrics', 'text'] as const) {
      const text = await body([account('a')], format);
      const families = format === 'text' ? parseText(text) : parseOpenMetrics(text);
      const samples = families.flatMap((family) => family.samples).filter(({ name }) => ours.test(name));
      const read = samples.map(({ name, labels, value: one }) => [name, { ...labels, le: Number(labels['le']) }, one]);
      seen.add(JSON.stringify(read));
    }
    expect(seen.size).toBe(1);
  });
});

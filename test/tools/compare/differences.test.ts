import { describe, expect, it } from 'vitest';
import { compareSides } from '../../../src/tools/compare/compareSides.ts';
import { entityKey, type SideSeries } from '../../../src/tools/compare/sides.ts';
import { FAMILIES } from '../../../src/metrics/catalogue.ts';
import type { Labels } from '../../../src/metrics/family.ts';

const APP: Labels = { app: 'Shop', app_id: '1' };
const HOST: Labels = { ...APP, host: 'web-1' };

function series(family: string, value: number, labels: Labels = APP): SideSeries {
  if (!FAMILIES.some(({ name }) => name === family)) throw new Error(`there is no family ${family}`);
  return { family, labels, value };
}

const BOTH = [APP, HOST].map(entityKey);

function compared(rest: readonly SideSeries[], nerdgraph: readonly SideSeries[], entities: readonly string[] = BOTH) {
  const all = [...new Set([...rest, ...nerdgraph].map(({ labels }) => entityKey(labels)))];
  const listed = [...all.filter((each) => !entities.includes(each)), ...entities];
  return compareSides({ series: rest, entities: listed }, { series: nerdgraph, entities: listed }, 0.01);
}

/** The only difference between two lists of series of entities that both interfaces list. */
function differenceOf(rest: readonly SideSeries[], nerdgraph: readonly SideSeries[], entities?: readonly string[]) {
  const { differences } = compared(rest, nerdgraph, entities);
  expect(differences).toHaveLength(1);
  return differences[0]!;
}

describe('compareSides', () => {
  it('measures a difference against the larger value', () => {
    const family = 'newrelic_application_response_time_seconds';
    const { families, differences, unexpected } = compared([series(family, 0.2)], [series(family, 0.25)]);
    const max_difference = expect.closeTo(0.2, 12) as number;
    const counts = { compared: 1, differing: 1, only_rest: 0, only_nerdgraph: 0 };
    expect(families).toEqual([{ family, max_difference, ...counts }]);
    expect(differences[0]).toMatchObject({ rest: 0.2, nerdgraph: 0.25, expected: false, reason: null });
    expect(unexpected).toBe(1);
  });

  it.each([
    ['within the tolerance', 1, 1.0099, 0],
    ['beyond it', 1, 1.02, 1],
    ['of 0 and something', 0, 1e-9, 1],
    ['of two zeros', 0, 0, 0],
    ['of different signs', -1, 1, 1],
  ])('counts a difference %s correctly', (_, a, b, unexpected) => {
    const family = 'newrelic_application_cpu_usage_ratio';
    expect(compared([series(family, a)], [series(family, b)]).unexpected).toBe(unexpected);
  });

  it('measures a difference of total times against the web transaction time, because total times are differences', () => {
    const both = series('newrelic_application_web_transaction_time_seconds', 1);
    const total = (value: number) => [both, series('newrelic_application_total_time_seconds', value)];
    expect(compared(total(0.001), total(0.002)).unexpected).toBe(0);
    expect(differenceOf(total(0.1), total(0.2)).difference).toBeCloseTo(0.1, 12);
    const none = series('newrelic_application_web_transaction_time_seconds', 0);
    const withNone = (value: number) => [none, series('newrelic_application_total_time_seconds', value)];
    expect(differenceOf(withNone(0), withNone(0.1)).difference).toBe(1);
  });

  it('matches applications by id and hosts by name, also after a rename', () => {
    const family = 'newrelic_host_cpu_usage_ratio';
    const { families } = compared([series(family, 1, HOST)], [series(family, 1, { ...HOST, app: 'renamed' })]);
    expect(families[0]).toMatchObject({ compared: 1, differing: 0, only_rest: 0, only_nerdgraph: 0 });
  });

  it.each<[what: string, family: string, rest: number | null, nerdgraph: number | null, RegExp]>([
    ['a family of REST only', 'application_last_reported_timestamp_seconds', 1, null, /does not have/],
    ['rolling values', 'application_rolling_requests_per_second', 1, 2, /time base/],
    ['numbers of hosts', 'application_hosts', 1, 2, /time base/],
    ['zeros that REST keeps', 'application_component_calls_per_second', 0, null, /keeps zeros/],
    ['values without a row of NerdGraph', 'application_non_web_requests_per_second', null, 0, /read as 0/],
    ['host values that REST lacks', 'host_queue_time_seconds', null, 1, /no data .* this host/],
    ['an entry without a reporting state', 'application_reporting', null, 1, /read as reporting/],
  ])('expects a difference in %s', (_, name, ...[rest, nerdgraph, reason]) => {
    const labels = name.startsWith('host_') ? HOST : APP;
    const side = (number: number | null) => (number === null ? [] : [series(`newrelic_${name}`, number, labels)]);
    const difference = differenceOf(side(rest), side(nerdgraph));
    expect(difference.expected).toBe(true);
    expect(difference.reason).toMatch(reason);
  });

  it('expects the total time of a host to differ only where REST has no components of hosts', () => {
    const parts = [series('newrelic_host_component_time_seconds', 1, { ...HOST, component: 'External' })];
    const total = (value: number) => series('newrelic_host_total_time_seconds', value, HOST);
    const { differences } = compared([total(1)], [...parts, total(2)]);
    expect(differences.map(({ expected }) => expected)).toEqual([true, true]);
    expect(differenceOf([...parts, total(1)], [...parts, total(2)]).expected).toBe(false);
  });

  it('expects the threshold of an Apdex without requests to be absent, but not with requests', () => {
    const threshold = series('newrelic_application_apdex_threshold_seconds', 0.5);
    const zone = (value: number) => series('newrelic_application_apdex_requests', value, { ...APP, zone: 'satisfied' });
    expect(compared([threshold, zone(0)], []).unexpected).toBe(0);
    expect(differenceOf([threshold, zone(3)], [zone(3)]).expected).toBe(false);
  });

  it('expects hosts that share a name to differ', () => {
    const family = 'newrelic_host_cpu_usage_ratio';
    const one = [series(family, 1, HOST)];
    const two = [series(family, 2, HOST)];
    const twice = [APP, HOST, HOST].map(entityKey);
    expect(differenceOf(one, two, twice).reason).toMatch(/share this name/);
    expect(differenceOf(one, two).expected).toBe(false);
  });

  it.each([
    ['a value that one interface lacks', [series('newrelic_application_apdex_score', 0.9)], []],
    ['a value other than 0 without a row', [], [series('newrelic_application_web_requests_per_second', 2)]],
    ['a zero of another family', [], [series('newrelic_application_memory_used_bytes', 0)]],
  ])('does not expect %s', (_, rest, nerdgraph) => {
    expect(differenceOf(rest, nerdgraph)).toMatchObject({ expected: false, reason: null, difference: null });
  });

  it('expects no difference of an entity that only one interface lists, not even of its rolling values', () => {
    const list = [
      series('newrelic_host_info', 1, HOST),
      series('newrelic_host_rolling_requests_per_second', 0, HOST),
      series('newrelic_host_errors_per_second', 0, HOST),
    ];
    const listing = { series: list, entities: [entityKey(HOST)] };
    const other = { series: [], entities: [] };
    for (const [result, name] of [
      [compareSides(listing, other, 0.01), 'NerdGraph'],
      [compareSides(other, listing, 0.01), 'REST'],
    ] as const) {
      expect(result.unexpected).toBe(list.length);
      expect(result.differences.map(({ reason }) => reason)).toEqual(list.map(() => `${name} does not list this host`));
    }
  });

  it('expects zeros of window families only: a state that NerdGraph lost is not a zero', () => {
    expect(differenceOf([series('newrelic_application_server_side_config_enabled', 0)], []).expected).toBe(false);
    expect(differenceOf([series('newrelic_host_info', 1, HOST)], []).expected).toBe(false);
    expect(differenceOf([], [series('newrelic_host_info', 1, HOST)]).expected).toBe(false);
  });

  it('counts the series that it does not judge, whether or not they differ', () => {
    const rolling = series('newrelic_application_rolling_apdex_score', 1);
    const cpu = series('newrelic_application_cpu_usage_ratio', 1);
    expect(compared([rolling, cpu], [rolling, cpu])).toMatchObject({ not_judged: 1, unexpected: 0 });
  });

  it('sorts unexplained differences first: numbers by size, then absent series', () => {
    const cpu = (id: string, value: number) =>
      series('newrelic_application_cpu_usage_ratio', value, { app: 'a', app_id: id });
    const rolling = (value: number) => series('newrelic_application_rolling_apdex_score', value);
    const { differences } = compared(
      [cpu('1', 1), cpu('2', 1), cpu('3', 1), rolling(1)],
      [cpu('1', 1.1), cpu('2', 2), rolling(9)],
    );
    expect(differences.map(({ labels }) => labels['app_id'])).toEqual(['2', '1', '3', '1']);
    expect(differences.at(-1)?.expected).toBe(true);
  });
});

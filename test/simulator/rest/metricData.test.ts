import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTimestamp } from '../../../simulator/rest/restCall.ts';
import type { Simulator } from '../../../simulator/simulator.ts';
import { type Metric, call, GOOD, metricData, simulatorOfFile, simulatorOfTest, NOW, MINUTE } from '../client.ts';

const APP = '/applications/1000001';
const WINDOW = { from: '2026-05-20T13:30:00Z', to: '2026-05-20T14:00:00Z' };
const SUMMARIZED = { summarize: 'true' };

const rounded = await simulatorOfFile();
const exact = await simulatorOfFile({ rounding: false });

const named = (metrics: readonly Metric[], name: string): Metric => metrics.find((metric) => metric.name === name)!;

describe('metric data', () => {
  // Averages, rates and percentages: test/e2e/values.test.ts.
  it('are consistent: a summary is the sum of its minutes', async () => {
    const names = [
      ...['HttpDispatcher', 'WebFrontend/QueueTime', 'Datastore/MySQL/allWeb', 'Apdex'],
      ...['EndUser', 'Errors/all', 'CPU/User Time'],
    ];
    const ranges = fc.record({
      app: fc.constantFrom(1, 5, 8),
      ago: fc.nat(7 * 1440),
      minutes: fc.integer({ min: 1, max: 180 }),
    });
    await fc.assert(
      fc.asyncProperty(ranges, async ({ app, ago, minutes }) => {
        const to = Math.floor(NOW / MINUTE) * MINUTE - ago * MINUTE;
        const range = { from: new Date(to - minutes * MINUTE).toISOString(), to: new Date(to).toISOString() };
        const path = `/applications/100000${app}`;
        const series = await metricData(exact, path, names, range);
        const summary = await metricData(exact, path, names, { ...range, ...SUMMARIZED });
        expect(series.metrics_found).toEqual(summary.metrics_found);
        for (const metric of summary.metrics) {
          const points = named(series.metrics, metric.name).timeslices;
          expect(points).toHaveLength(minutes);
          expect(metric.timeslices).toHaveLength(1);
          const { from, to: end, values } = metric.timeslices[0]!;
          expect([points[0]!.from, points.at(-1)!.to]).toEqual([from, end]);
          const total = (value: string) => points.reduce((sum, point) => sum + (point.values[value] ?? 0), 0);
          for (const name of ['call_count', 'error_count', 's', 't', 'f', 'count', 'total_time']) {
            if (values[name] !== undefined) expect(values[name]).toBeCloseTo(total(name), 6);
          }
          if (values['max_response_time'] !== undefined) {
            expect(values['max_response_time']).toBe(
              Math.max(...points.map(({ values: point }) => point['max_response_time']!)),
            );
          }
        }
      }),
      { numRuns: 25 },
    );
  });

  it('list names as found or not found, without an error', async () => {
    const names = ['Foo', 'HttpDispatcher', 'ActiveRecord/all', 'HttpDispatcher'];
    const data = await metricData(rounded, APP, names, SUMMARIZED);
    expect(data.metrics_found).toEqual(['HttpDispatcher']);
    expect(data.metrics_not_found).toEqual(['Foo', 'ActiveRecord/all']);
    expect(data.metrics).toHaveLength(1);
  });

  it('repeat the requested range in UTC and have a timeslice per minute', async () => {
    const data = await metricData(rounded, APP, ['Apdex'], {
      from: '2026-05-20T15:30:00+02:00',
      to: '2026-05-20T16:00:00+02:00',
    });
    expect([data.from, data.to]).toEqual(['2026-05-20T13:30:00+00:00', '2026-05-20T14:00:00+00:00']);
    expect(data.metrics[0]!.timeslices).toHaveLength(30);
    const values = Object.keys(data.metrics[0]!.timeslices[0]!.values);
    expect(values.join()).toBe('s,t,f,count,score,value,threshold,threshold_min');
  });

  it('cover half an hour that ends in the past by default', async () => {
    const data = await metricData(rounded, APP, ['HttpDispatcher'], SUMMARIZED);
    expect([data.from, data.to]).toEqual(['2026-05-20T13:37:31+00:00', '2026-05-20T14:07:31+00:00']);
    const slice = data.metrics[0]!.timeslices[0]!;
    expect(parseTimestamp(slice.to)! - parseTimestamp(slice.from)!).toBe(30 * MINUTE);
    expect(NOW - parseTimestamp(slice.to)!).toBeGreaterThanOrEqual(1.5 * MINUTE);
  });

  it('have an empty object for values that a metric does not have', async () => {
    const one = { 'values[]': 'call_count', summarize: 'true' };
    const data = await metricData(rounded, APP, ['HttpDispatcher', 'Apdex'], one);
    expect(Object.keys(named(data.metrics, 'HttpDispatcher').timeslices[0]!.values)).toEqual(['call_count']);
    expect(named(data.metrics, 'Apdex').timeslices[0]!.values).toEqual({});
  });

  it('are rounded to three significant digits except counts, unless raw', async () => {
    const valuesOf = async (simulator: Simulator, more = {}) => {
      const data = await metricData(simulator, APP, ['HttpDispatcher'], { ...SUMMARIZED, ...WINDOW, ...more });
      return data.metrics[0]!.timeslices[0]!.values;
    };
    const values = await valuesOf(rounded);
    const raw = await valuesOf(rounded, { raw: 'true' });
    expect(raw).toEqual(await valuesOf(exact));
    expect(values['call_count']).toBe(raw['call_count']);
    expect(values['call_count']).toBeGreaterThan(1000);
    expect(values['average_response_time']).toBe(Number(raw['average_response_time']!.toPrecision(3)));
    expect(values['average_response_time']).not.toBe(raw['average_response_time']);
  });

  it('exist for complete minutes only', async () => {
    const [data, future] = await Promise.all(
      ['00', '07'].map((minute) => {
        const range = { from: `2026-05-20T14:${minute}:00Z`, to: '2026-05-20T14:20:00Z' };
        return metricData(rounded, APP, ['HttpDispatcher'], range);
      }),
    );
    expect(data!.metrics[0]!.timeslices.at(-1)!.from).toBe('2026-05-20T14:06:00+00:00');
    expect(future!.metrics_not_found).toEqual(['HttpDispatcher']);
  });

  it('of a host and an instance have the documented names', async () => {
    const documented = ['HttpDispatcher', 'Apdex', 'CPU/User Time', 'Memory/Physical'];
    const browser = ['EndUser', 'EndUser/Apdex'];
    const asked = [...documented, ...browser, 'WebTransactionTotalTime', 'Datastore/MySQL/allWeb'];
    for (const scope of ['/hosts/100000001', '/instances/10000000100']) {
      const data = await metricData(rounded, APP + scope, asked, SUMMARIZED);
      expect(data.metrics_found).toEqual(documented);
    }
    const generous = await simulatorOfTest({ hostMetrics: 'all' });
    const data = await metricData(generous, `${APP}/hosts/100000001`, asked, SUMMARIZED);
    expect(data.metrics_not_found).toEqual(browser);
  });

  it('find EndUserApdex under its other spelling, and no members of JavaScript objects', async () => {
    const data = await metricData(rounded, APP, ['EndUserApdex', 'EndUser/Apdex', 'constructor'], WINDOW);
    expect(data.metrics.map(({ name }) => name)).toEqual(['EndUser/Apdex']);
    expect([data.metrics_found, data.metrics_not_found]).toEqual([['EndUser/Apdex'], ['constructor']]);
  });

  it('end timeslices with the last second, and list no names, where the settings say so', async () => {
    const old = await simulatorOfTest({ inclusiveTo: true, metricsFound: false });
    const data = await metricData(old, APP, ['Apdex'], { ...SUMMARIZED, ...WINDOW });
    const today = await metricData(rounded, APP, ['Apdex'], { ...SUMMARIZED, ...WINDOW });
    expect(data.metrics[0]!.timeslices[0]!.to).toBe('2026-05-20T13:59:59+00:00');
    expect(today.metrics[0]!.timeslices[0]!.to).toBe('2026-05-20T14:00:00+00:00');
    expect(data.metrics[0]!.timeslices[0]!.values).toEqual(today.metrics[0]!.timeslices[0]!.values);
    expect(Object.keys(data)).toEqual(['from', 'to', 'metrics']);
  });

  it.each([
    ['', 400],
    ['values[]=call_count', 400],
    ['names[]=Apdex&from=yesterday', 400],
    ['names[]=Apdex&from=2026-05-20T13:00:00+00:00', 400],
    ['names[]=Apdex&from=2026-05-20T13:00:00Z&to=2026-05-20T13:00:59Z', 422],
    ['names[]=Apdex&from=2026-05-20T14:00:00Z&to=2026-05-20T13:00:00Z', 422],
    ['names[]=Apdex&period=0', 422],
    ['names[]=Apdex&period=abc', 422],
  ])('refuse %s with %i', async (query, status) => {
    const reply = await call(`${rounded.url}/v2${APP}/metrics/data.json?${query}`);
    expect(reply.status).toBe(status);
    const { error } = JSON.parse(reply.text) as { error: { title: string; messages: string[] } };
    expect(error.title).not.toBe('');
    expect(error.messages).toHaveLength(1);
  });

  it('accept parameters from a form body too, as curl -d sends them', async () => {
    const body = 'names[]=Apdex&summarize=true';
    const form = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': String(body.length) };
    const reply = await call(`${rounded.url}/v2${APP}/metrics/data.json`, { headers: { ...GOOD, ...form }, body });
    expect(reply.text).toContain('"metrics_found":["Apdex"]');
  });
});

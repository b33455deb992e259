import { beforeEach, describe, expect, it } from 'vitest';
import { RequestLog } from '../../simulator/simulatorState.ts';
import type { Simulator } from '../../simulator/simulator.ts';
import { call, GOOD, metricData, read, records, simulatorOfTest, NOW, MINUTE } from './client.ts';

const APP = 1_000_001;

let now: number;
let simulator: Simulator;
beforeEach(async () => {
  now = NOW;
  simulator = await simulatorOfTest({ now: () => now });
});

async function control(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const reply = await call(`${simulator.url}/control${path}`, { method, headers: {}, body: JSON.stringify(body) });
  return { status: reply.status, body: reply.text === '' ? undefined : JSON.parse(reply.text) };
}

const application = async () => (await read(simulator, `/v2/applications/${APP}.json`))['application'];
const change = (body: unknown) => control('POST', `/applications/${APP}`, body);

describe('the control endpoint', () => {
  it('adds, shows and removes fault rules', async () => {
    expect(await control('POST', '/faults', { effect: 'status', status: 500 })).toEqual({
      status: 201,
      body: { ids: [1] },
    });
    expect(await control('POST', '/faults', [{ effect: 'hang', on: 'hosts' }])).toMatchObject({ status: 201 });
    expect((await control('GET', '/faults')).body).toMatchObject([{ id: 1, matched: 0 }, { id: 2 }]);
    expect((await call(`${simulator.url}/v2/applications.json`)).status).toBe(500);
    expect((await control('DELETE', '/faults/1')).status).toBe(204);
    expect((await control('DELETE', '/faults/1')).status).toBe(404);
    expect((await control('DELETE', '/faults')).status).toBe(204);
    expect((await control('GET', '/faults')).body).toEqual([]);
  });

  it.each([
    ['POST', '/faults', { effect: 'explode' }, 400],
    ['POST', `/applications/${APP}`, { colour: 'red' }, 400],
    ['POST', `/applications/${APP}`, undefined, 400],
    ['PUT', '/faults', undefined, 405],
    ['GET', '/nothing', undefined, 404],
  ])('answers %s %s %j with %i and a reason', async (method, path, body, status) => {
    const reply = await control(method, path, body);
    expect(reply.status).toBe(status);
    expect(reply.body).toHaveProperty('error');
  });

  it('answers 404 when switched off', async () => {
    const closed = await simulatorOfTest({ control: false });
    expect((await call(`${closed.url}/control/faults`)).status).toBe(404);
  });

  it('renames, removes and restores an application', async () => {
    expect((await change({ name: 'Renamed' })).status).toBe(204);
    expect(await application()).toMatchObject({ name: 'Renamed' });
    await change({ removed: true });
    expect((await call(`${simulator.url}/v2/applications/${APP}.json`)).status).toBe(404);
    expect(records(await read(simulator, '/v2/applications.json'), 'applications')).toHaveLength(15);
    const keys = records(await read(simulator, '/v2/key_transactions.json'), 'key_transactions');
    expect(keys.filter(({ name }) => String(name).startsWith('Storefront'))).toEqual([]);
    expect((await control('DELETE', `/applications/${APP}`)).status).toBe(204);
    expect(await application()).toMatchObject({ name: 'Storefront' });
  });

  it('makes an application stop reporting, and start again', async () => {
    await change({ reporting: false });
    now += 11 * MINUTE;
    expect(await application()).toMatchObject({ reporting: false, health_status: 'gray' });
    expect((await control('GET', '/applications')).body).toContainEqual({
      id: APP,
      name: 'Storefront',
      language: 'ruby',
      reporting: false,
    });
    await change({ reporting: true });
    expect(await application()).toMatchObject({ reporting: true });
  });

  it('sets the traffic of every minute, and all figures follow', async () => {
    await change({
      traffic: { requests_per_minute: 100, response_milliseconds: 250, errors_per_minute: 5, background_per_minute: 2 },
    });
    expect(await application()).toMatchObject({
      application_summary: { throughput: 100, response_time: 250, error_rate: 0.05 },
    });
    const names = ['HttpDispatcher', 'Errors/all', 'OtherTransaction/all'];
    const { metrics } = await metricData(simulator, `/applications/${APP}`, names, { summarize: 'true' });
    const counts = metrics.map(
      ({ timeslices: [slice] }) => slice!.values['call_count'] ?? slice!.values['error_count'],
    );
    expect(counts).toEqual([3000, 150, 60]);
    await change({ traffic: null });
    expect(await application()).not.toMatchObject({ application_summary: { throughput: 100 } });
  });

  it('starts an incident, which ends', async () => {
    await change({ incident: { minutes: 10, started_minutes_ago: 5, response_factor: 6, error_ratio: 0.4 } });
    expect(await application()).toMatchObject({ health_status: 'red' });
    const during = (await application()) as { application_summary: { error_rate: number } };
    expect(during.application_summary.error_rate).toBeGreaterThan(0.3);
    now += 10 * MINUTE;
    expect(await application()).toMatchObject({ health_status: 'green' });
    await change({ incident: null });
    now -= 10 * MINUTE;
    expect(await application()).toMatchObject({ health_status: 'green' });
  });
});

describe('a body', () => {
  it.each([
    ['POST', '/control/faults', {}],
    ['POST', '/graphql', { 'Api-Key': GOOD['X-Api-Key'] }],
    ['GET', '/v2/applications.json', { ...GOOD, 'Content-Type': 'application/x-www-form-urlencoded' }],
  ])('above one megabyte gets 413: %s %s', async (method, path, headers) => {
    const status = async (body: string) => {
      const length = { 'Content-Length': String(body.length) };
      return (await call(simulator.url + path, { method, headers: { ...headers, ...length }, body })).status;
    };
    expect(await status(' '.repeat(1024 * 1024 + 1))).toBe(413);
    expect(await status(' '.repeat(1024 * 1024))).not.toBe(413);
  });
});

describe('the log of calls', () => {
  it('counts calls by kind and status, and keeps requests without the key', async () => {
    await read(simulator, '/v2/applications.json');
    for (const minute of ['00', '00', '01']) {
      const range = `from=2026-05-20T13:${minute}:00Z&to=2026-05-20T13:31:00Z`;
      await read(simulator, `/v2/applications/${APP}/metrics/data.json?names[]=Apdex&${range}`);
    }
    await call(`${simulator.url}/v2/applications.json`, { headers: { 'Api-Key': 'secret-key' } });
    const log = simulator.requests;
    await expect.poll(() => log.running).toBe(0);
    expect([log.count(), log.count('metric_data'), log.count('hosts')]).toEqual([5, 3, 0]);
    expect(log.statuses).toEqual({ 200: 4, 401: 1 });
    expect(log.ranges().map(({ calls }) => calls)).toEqual([2, 1]);
    expect(log.all('applications').at(-1)).toMatchObject({
      method: 'GET',
      path: '/v2/applications.json',
      keyHeader: 'Api-Key',
      keyValid: false,
      at: NOW,
    });
    expect(log.all('metric_data')[0]).toMatchObject({ applicationId: APP, keyValid: true });
    const shown = await control('GET', '/requests');
    expect(shown.body).toMatchObject({ count: 5, busiest_minute: 5, by_kind: { metric_data: 3 } });
    expect(JSON.stringify(shown.body)).not.toContain('secret-key');
    await control('DELETE', '/requests');
    expect([log.count(), log.all()]).toEqual([0, []]);
  });

  const anyCall = {
    ...{ at: 0, method: 'GET', path: '/', query: '' },
    ...{ kind: undefined, applicationId: undefined, keyHeader: undefined, keyValid: true },
  };

  it.each([1, 3, 100])('keeps the newest %d calls with that limit, and counts all calls', (limit) => {
    const log = new RequestLog(limit);
    for (let elapsed = 1; elapsed <= 1_000; elapsed += 1) {
      log.begin({ ...anyCall, elapsed })(200);
      expect(log.all().length).toBe(Math.min(limit, elapsed));
      expect(log.all().at(-1)?.elapsed).toBe(elapsed);
    }
    expect(log.count()).toBe(1_000);
  });

  it('finds the busiest minute, at whatever second the minute begins', () => {
    const log = new RequestLog();
    for (const elapsed of [0, 1, 2, 59_999, 60_000, 60_001, 200_000]) log.begin({ ...anyCall, elapsed })(200);
    expect(log.busiest()).toBe(4);
    expect(log.busiest(3)).toBe(3);
    expect(log.count('other')).toBe(7);
  });

  it('counts the highest number of calls at once', async () => {
    const slow = await simulatorOfTest({ faults: [{ effect: 'hang' }] });
    const controller = new AbortController();
    const calls = Array.from({ length: 4 }, () =>
      call(`${slow.url}/v2/applications.json`, { signal: controller.signal }).catch(() => 'given up'),
    );
    await expect.poll(() => slow.requests.running).toBe(4);
    controller.abort();
    expect(await Promise.all(calls)).toEqual(Array(4).fill('given up'));
    await expect.poll(() => slow.requests.running).toBe(0);
    expect(slow.requests.maxConcurrency).toBe(4);
    expect(slow.requests.statuses).toEqual({ none: 4 });
  });
});

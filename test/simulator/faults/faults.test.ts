import { afterEach, describe, expect, it } from 'vitest';
import type { FaultRuleInput } from '../../../simulator/faults/faultRules.ts';
import { startSimulator } from '../../../simulator/simulator.ts';
import { type Reply, call, GOOD, linked, simulatorOfFile, NOW } from '../client.ts';

const LIST = '/v2/applications.json';
const ONE = '/v2/applications/1000001.json';
const DATA = '/v2/applications/1000001/metrics/data.json?names[]=HttpDispatcher&summarize=true';

const simulator = await simulatorOfFile();
afterEach(() => simulator.faults.clear());

function struck(rule: FaultRuleInput, path = LIST): Promise<Reply> {
  simulator.faults.add(rule);
  return call(simulator.url + path);
}

const RESET = String(NOW / 1000 + 20);

/** Faults that answer in the place of the service: status, headers that must be there, text. */
const REFUSALS: readonly (readonly [FaultRuleInput, number, Record<string, string>, string | RegExp])[] = [
  [{ effect: 'status', status: 500 }, 500, {}, '{}'],
  [{ effect: 'status', status: 404, headers: { 'X-Odd': '1' }, body: 'gone' }, 404, { 'x-odd': '1' }, 'gone'],
  [{ effect: 'rate-limit', header: 'retry-after', seconds: 20 }, 429, { 'retry-after': '20' }, '{}'],
  [{ effect: 'rate-limit', seconds: 20 }, 429, { 'x-ratelimit-reset': RESET, 'x-ratelimit-remaining': '0' }, '{}'],
  [{ effect: 'rate-limit', header: 'old', seconds: 20 }, 429, { 'newrelic-overloadprotection-reset': RESET }, '{}'],
  [{ effect: 'unavailable', seconds: 7 }, 503, { 'retry-after': '7' }, /Service Unavailable/],
  [{ effect: 'invalid-key' }, 401, {}, `{"error":{"title":"Invalid API Key","api_key":"${GOOD['X-Api-Key']}"}}`],
  [{ effect: 'forbidden-page' }, 403, { 'content-type': 'text/html; charset=utf-8' }, /<html>/],
  [{ effect: 'empty' }, 200, {}, ''],
  [{ effect: 'html' }, 200, { 'content-type': 'text/html; charset=utf-8' }, /<html>/],
  [{ effect: 'redirect', location: 'http://a.test/' }, 302, { location: 'http://a.test/' }, /redirected/],
];

describe('a fault that answers instead of the service', () => {
  it.each(REFUSALS)('gives its status and body: %j', async (rule, status, headers, text) => {
    const reply = await struck(rule);
    expect(reply.status).toBe(status);
    expect(reply.headers).toMatchObject(headers);
    if (typeof text === 'string') expect(reply.text).toBe(text);
    else expect(reply.text).toMatch(text);
  });

  it('can be a 429 without a header for the end of the pause', async () => {
    const { status, headers } = await struck({ effect: 'rate-limit', header: 'none' });
    expect(status).toBe(429);
    expect(Object.keys(headers).filter((name) => /retry|limit|reset/i.test(name))).toEqual([]);
  });
});

describe('a fault on the connection', () => {
  it('hangs until the client gives up, and does not prevent the simulator from closing', async () => {
    const other = await startSimulator({ faults: [{ effect: 'hang' }] });
    const pending = call(other.url + LIST);
    const outcome = expect(pending).rejects.toThrow();
    await expect.poll(() => other.requests.running).toBe(1);
    await other.close();
    await outcome;
  });

  it.each(['reset', 'cut'] as const)('closes the connection before the end of the response: %s', async (effect) => {
    await expect(struck({ effect })).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('delays the response by at least its milliseconds', async () => {
    const before = performance.now();
    const reply = await struck({ effect: 'delay', milliseconds: 120 });
    expect(performance.now() - before).toBeGreaterThanOrEqual(115);
    expect(reply.status).toBe(200);
  });

  it('sends the whole body slowly', async () => {
    const sound = await call(simulator.url + ONE);
    const before = performance.now();
    const reply = await struck({ effect: 'drip', milliseconds: 5, bytes: 64 }, ONE);
    expect(reply.text).toBe(sound.text);
    expect(performance.now() - before).toBeGreaterThanOrEqual(Math.floor(sound.text.length / 64) * 4);
  });

  it('puts megabytes of white space before a valid body', async () => {
    const reply = await struck({ effect: 'huge', megabytes: 3 }, ONE);
    expect(reply.text.length).toBeGreaterThan(3 * 1024 * 1024);
    expect(JSON.parse(reply.text)).toHaveProperty('application');
    expect(reply.headers['content-length']).toBeUndefined();
  });
});

describe('a fault in the body', () => {
  it('breaks the JSON', async () => {
    const { status, text } = await struck({ effect: 'malformed' });
    expect(status).toBe(200);
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  });

  it('replaces the list by a text', async () => {
    expect(JSON.parse((await struck({ effect: 'wrong-shape' })).text)).toMatchObject({ applications: 'unexpected' });
  });

  it('removes id and name from the first record only', async () => {
    const { applications } = JSON.parse((await struck({ effect: 'bad-record' })).text) as { applications: object[] };
    expect(applications[0]).toMatchObject({ id: 'not a number', name: null });
    expect(applications[1]).toMatchObject({ id: 1_000_002, name: 'Checkout API' });
  });

  it('removes the name from the first metric', async () => {
    const { metric_data } = JSON.parse((await struck({ effect: 'bad-record' }, DATA)).text) as {
      metric_data: { metrics: object[] };
    };
    expect(metric_data.metrics[0]).toMatchObject({ name: null });
  });

  it.each([
    ['nulls', /^null$/],
    ['strings', /^"[\d.]+"$/],
  ] as const)('makes %s of figures, but not of ids', async (effect, figure) => {
    const { application } = JSON.parse((await struck({ effect }, ONE)).text) as {
      application: { id: unknown; application_summary: { throughput: unknown } };
    };
    expect(application.id).toBe(1_000_001);
    expect(JSON.stringify(application.application_summary.throughput)).toMatch(figure);
  });

  it.each(['1e999', '1e308', '-5'])('writes figures as %s', async (value) => {
    const { text } = await struck({ effect: 'numbers', value }, DATA);
    expect(text).toContain(`"call_count":${value},`);
    const parsed = JSON.parse(text) as { metric_data: { metrics: { timeslices: { values: object }[] }[] } };
    expect(parsed.metric_data.metrics[0]!.timeslices[0]!.values).toMatchObject({ call_count: Number(value) });
  });
});

describe('a fault in the pages of a list', () => {
  it('makes the list endless', async () => {
    simulator.faults.add({ effect: 'endless-pages' });
    let next: string | undefined = simulator.url + LIST;
    const seen = new Set<string>();
    for (let page = 0; page < 5 && next !== undefined; page += 1) {
      seen.add(next);
      const reply = await call(next);
      expect((JSON.parse(reply.text) as { applications: object[] }).applications).toHaveLength(16);
      next = linked(reply, 'next');
    }
    expect(next).toBe(`${simulator.url}${LIST}?page=6`);
    expect(seen.size).toBe(5);
  });

  it('repeats every record', async () => {
    const { text } = await struck({ effect: 'repeat-ids' });
    const ids = (JSON.parse(text) as { applications: { id: number }[] }).applications.map(({ id }) => id);
    expect([ids.length, new Set(ids).size]).toEqual([32, 16]);
  });

  it('links each page to itself', async () => {
    expect(linked(await struck({ effect: 'repeat-next' }), 'next')).toBe(`${simulator.url}${LIST}?page=1`);
  });
});

describe('a fault rule', () => {
  const status = async (path: string) => (await call(simulator.url + path)).status;

  it.each<[string, Pick<FaultRuleInput, 'on' | 'app' | 'path'>, number[]]>([
    ['kinds of calls', { on: ['application', 'metric_data'] }, [200, 500, 500, 500]],
    ['application', { app: 1_000_001 }, [200, 500, 200, 500]],
    ['path, query included,', { path: '*names[]=HttpDispatcher*' }, [200, 200, 200, 500]],
  ])('applies to the %s that it names', async (_, match, statuses) => {
    simulator.faults.add({ effect: 'status', status: 500, ...match });
    const paths = [LIST, ONE, '/v2/applications/1000002.json', DATA];
    expect(await Promise.all(paths.map(status))).toEqual(statuses);
  });

  it('lets its first calls pass, and ends after its number of times', async () => {
    simulator.faults.add({ effect: 'status', status: 500, skip: 1, times: 2 });
    const statuses: number[] = [];
    for (let index = 0; index < 5; index += 1) statuses.push(await status(ONE));
    expect(statuses).toEqual([200, 500, 500, 200, 200]);
    expect(simulator.faults.entries()).toMatchObject([{ matched: 3 }]);
  });

  it('applies after earlier rules, and can be removed', async () => {
    const first = simulator.faults.add({ effect: 'status', status: 500 });
    simulator.faults.add({ effect: 'status', status: 502 });
    expect(await status(ONE)).toBe(500);
    expect(simulator.faults.remove(first)).toBe(true);
    expect(await status(ONE)).toBe(502);
    expect(simulator.faults.remove(first)).toBe(false);
  });
});

import { XMLParser } from 'fast-xml-parser';
import { describe, expect, it } from 'vitest';
import { certificate } from '../../support/certificates.ts';
import { call, GOOD, linked, read, records, simulatorOfFile, simulatorOfTest } from '../client.ts';

const APP = '/v2/applications/1000001';

const simulator = await simulatorOfFile({ applications: 450, keyTransactions: 230 });

/** Each endpoint: its path without suffix, and the envelope of its response. */
const ENDPOINTS = [
  ['/v2/applications', 'applications'],
  [APP, 'application'],
  [`${APP}/hosts`, 'application_hosts'],
  [`${APP}/hosts/100000001`, 'application_host'],
  [`${APP}/instances`, 'application_instances'],
  [`${APP}/instances/10000000100`, 'application_instance'],
  ['/v2/key_transactions', 'key_transactions'],
  ['/v2/key_transactions/5000001', 'key_transaction'],
  [`${APP}/metrics`, 'metrics'],
  [`${APP}/hosts/100000001/metrics`, 'metrics'],
  [`${APP}/instances/10000000100/metrics`, 'metrics'],
  [`${APP}/metrics/data`, 'metric_data'],
  [`${APP}/hosts/100000001/metrics/data`, 'metric_data'],
  [`${APP}/instances/10000000100/metrics/data`, 'metric_data'],
] as const;

describe('the service', () => {
  it.each(ENDPOINTS)(
    'answers %s in its envelope, and in XML with lists as plural and singular',
    async (path, envelope) => {
      const reply = (ending: string) => call(`${simulator.url}${path}.${ending}?names[]=HttpDispatcher`);
      const [json, xml] = [await reply('json'), await reply('xml')];
      expect([json.status, xml.status]).toEqual([200, 200]);
      expect(json.headers['content-type']).toContain('application/json');
      expect(xml.headers['content-type']).toContain('application/xml');
      expect(Object.keys(JSON.parse(json.text) as object)[0]).toBe(envelope);
      const document = new XMLParser().parse(xml.text) as Record<string, Record<string, Record<string, unknown>>>;
      const content = document[`${envelope}_response`]![envelope]!;
      if (envelope.endsWith('s')) expect(content[envelope.slice(0, -1)]).toBeDefined();
      else expect(Object.keys(content).length).toBeGreaterThan(2);
    },
  );

  it('escapes characters so that XML readers get the original', async () => {
    const reply = await call(`${simulator.url}/v2/applications/1000015.xml`);
    const document = new XMLParser().parse(reply.text) as { application_response: { application: { name: string } } };
    expect(document.application_response.application.name).toBe(simulator.world.application(1_000_015)!.name);
  });

  it.each([
    '/v2/nothing.json',
    '/v2/applications',
    '/v2/applications/1.json',
    '/v2/key_transactions/1.json',
    `${APP}/hosts/1.json`,
    `${APP}/instances/1.json`,
    `${APP}/hosts/1/metrics/data.json?names[]=Apdex`,
    '/v2/applications/x.json',
  ])('answers 404 with an error object to %s', async (path) => {
    const reply = await call(simulator.url + path);
    expect(reply.status).toBe(404);
    expect(JSON.parse(reply.text)).toEqual({ error: { title: 'The requested resource was not found' } });
  });

  it.each(['POST', 'PUT', 'DELETE'])('answers 405 to %s', async (method) => {
    const reply = await call(`${simulator.url}/v2/applications.json`, { method });
    expect([reply.status, reply.headers['allow']]).toEqual([405, 'GET']);
  });

  it.each([
    [{ 'Api-Key': GOOD['X-Api-Key'] }, 200, undefined],
    [{}, 401, { title: 'No API key specified' }],
    [{ 'X-Api-Key': 'wrong' }, 401, { title: 'Invalid API Key', api_key: 'wrong' }],
    // In the other header the service does not see a key that it does not know.
    [{ 'Api-Key': 'wrong' }, 401, { title: 'No API key specified' }],
  ])('accepts a valid key under both header names: %j', async (headers, status, error) => {
    const reply = await call(`${simulator.url}${APP}.json`, { headers: { ...headers, Accept: '*/*' } });
    expect([reply.status, (JSON.parse(reply.text) as { error?: object }).error]).toEqual([status, error]);
  });

  it('answers 200 with an empty body to a request without Accept', async () => {
    const headers = { 'X-Api-Key': GOOD['X-Api-Key'] };
    const reply = await call(`${simulator.url}/v2/applications.json`, { headers });
    expect([reply.status, reply.text]).toEqual([200, '']);
  });

  it('answers 429 with its end beyond the limit of calls in a minute', async () => {
    const strict = await simulatorOfTest({ callsPerMinute: 2 });
    const statuses: number[] = [];
    for (let index = 0; index < 3; index += 1) statuses.push((await call(`${strict.url}${APP}.json`)).status);
    const limited = await call(`${strict.url}${APP}.json`);
    expect(statuses).toEqual([200, 200, 429]);
    expect(limited.headers).toMatchObject({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Date.UTC(2026, 4, 20, 14, 8) / 1000),
    });
  });
});

describe('lists', () => {
  it('have 200 objects a page and link from page to page', async () => {
    const first = await call(`${simulator.url}/v2/applications.json`);
    const second = await call(linked(first, 'next')!);
    const third = await call(linked(second, 'next')!);
    const ids = [first, second, third].map((reply) =>
      records(JSON.parse(reply.text) as Record<string, unknown>, 'applications').map(({ id }) => id),
    );
    expect(ids.map((page) => page.length)).toEqual([200, 200, 50]);
    expect(new Set(ids.flat()).size).toBe(450);
    expect(linked(first, 'last')).toBe(`${simulator.url}/v2/applications.json?page=3`);
    expect([linked(second, 'first'), linked(second, 'prev')]).toEqual(
      [1, 1].map((page) => `${simulator.url}/v2/applications.json?page=${page}`),
    );
    expect(linked(third, 'next')).toBeUndefined();
    expect(linked(third, 'prev')).toBeDefined();
  });

  it('are empty past the end, and have no Link header where one page is enough', async () => {
    expect(records(await read(simulator, '/v2/applications.json?page=4'), 'applications')).toEqual([]);
    expect((await call(`${simulator.url}${APP}/hosts.json`)).headers['link']).toBeUndefined();
  });

  it('keep the filters in their links', async () => {
    const path = '/v2/applications.json?filter[name]=e';
    expect(linked(await call(simulator.url + path), 'next')).toContain('filter%5Bname%5D=e');
  });

  it.each([
    ['/v2/applications.json?filter[name]=retired+INTRANET+28', 'applications', [1_000_445]],
    ['/v2/applications.json?filter[ids]=1000002,1000001,7', 'applications', [1_000_001, 1_000_002]],
    ['/v2/applications.json?filter[language]=php&filter[name]=Blog+3', 'applications', [1_000_041]],
    ['/v2/applications.json?filter[host]=gateway-7-', 'applications', [1_000_007]],
    [`${APP}/hosts.json?filter[hostname]=-02`, 'application_hosts', [100_000_002]],
    [`${APP}/hosts.json?filter[ids]=100000001`, 'application_hosts', [100_000_001]],
    [`${APP}/instances.json?filter[ids]=10000000100`, 'application_instances', [10_000_000_100]],
    ['/v2/key_transactions.json?filter[ids]=5000002', 'key_transactions', [5_000_002]],
    ['/v2/key_transactions.json?filter[name]=quote+%22', 'key_transactions', undefined],
  ])('are filtered by %s', async (path, envelope, ids) => {
    const found = records(await read(simulator, path), envelope);
    if (ids === undefined) expect(found.every(({ name }) => String(name).toLowerCase().includes('quote "'))).toBe(true);
    else expect(found.map(({ id }) => id)).toEqual(ids);
    expect(found.length).toBeGreaterThan(0);
  });
});

// What the records have: test/e2e/values.test.ts.
describe('metric names', () => {
  const LONG = '/v2/applications/1000002/metrics.json';

  it('have a thousand names a page, by cursor, and end with an empty page', async () => {
    const first = await call(simulator.url + LONG);
    const second = await call(linked(first, 'next')!);
    const third = await call(linked(second, 'next')!);
    expect(linked(first, 'next')).toMatch(/\?page=2&cursor=.+/);
    const pages = [first, second, third].map((reply) =>
      records(JSON.parse(reply.text) as Record<string, unknown>, 'metrics'),
    );
    expect(pages.slice(0, 2).map((page) => page.length)).toEqual([1000, 1000]);
    expect(new Set(pages.flat().map(({ name }) => name)).size).toBe(pages.flat().length);
    expect(linked(third, 'next')).toMatch(/&cursor=$/);
    expect((await call(linked(third, 'next')!)).text).toBe(first.text);
  });

  it('can be paged by number', async () => {
    const last = await call(`${simulator.url}${LONG}?page=3`);
    expect(linked(last, 'prev')).toContain('page=2');
  });

  it('are filtered by name and list their values', async () => {
    const found = records(await read(simulator, `${APP}/metrics.json?name=/allweb`), 'metrics');
    expect(found.map(({ name }) => name)).toEqual([
      'Datastore/MySQL/allWeb',
      'Errors/allWeb',
      'External/allWeb',
      'Memcache/allWeb',
    ]);
    expect(found[0]!['values']).toHaveLength(10);
    expect(records(await read(simulator, `${APP}/hosts/100000001/metrics.json?name=EndUser`), 'metrics')).toEqual([]);
  });
});

describe('a simulator with a certificate', () => {
  it('serves HTTPS, and redirects plain HTTP on the same port to HTTPS', async () => {
    const tls = await certificate('localhost', [{ type: 7, ip: '127.0.0.1' }]);
    const secure = await simulatorOfTest({ tls });
    const path = '/v2/applications/1000001.json?a=b';
    const reply = await call(secure.url + path, { ca: tls.cert });
    const plain = await call(`http://127.0.0.1:${secure.port}${path}`);
    expect(secure.url).toMatch(/^https:/);
    expect(reply.status).toBe(200);
    expect(plain.status).toBe(301);
    expect(plain.headers['location']).toBe(secure.url + path);
    expect(plain.text).toBe(`You are being redirected ${secure.url}${path}\n`);
  });
});

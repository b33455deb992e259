import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { GROUPS } from '../../../src/reads/reads.ts';
import { served } from '../support/app.ts';
import { breakdownBlock, TEST_NOW } from '../support/collector.ts';
import { deferred } from '../support/deferred.ts';
import { requestText } from '../support/hostile.ts';
import { get } from '../support/http.ts';
import { eventually } from '../../support/eventually.ts';

/** A client over a socket of its own. */
function asking(port: number, headers: readonly string[] = [], times = 1): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.write(requestText('/metrics', headers).repeat(times));
  return socket;
}

const OPEN_METRICS = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5';

describe('the telemetry path', () => {
  test('answers text 0.0.4 with the collected data and the exporter’s own metrics', async () => {
    const { app, origin } = await served();
    const got = await get(`${origin}/metrics`);
    expect(got.status).toBe(200);
    expect(got.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(got.headers['content-length']).toBe(String(got.bytes.length));
    expect(got.headers).not.toHaveProperty('etag');
    expect(got.headers).not.toHaveProperty('x-powered-by');
    expect(got.text).toContain(
      'newrelic_application_response_time_seconds{account="production",app="checkout",app_id="7"} 0.25\n',
    );
    expect(got.text).toContain('newrelic_up 1\n');
    expect(app.collector.refreshes.map(({ groups }) => groups)).toEqual([[...GROUPS]]);
    expect(app.scraped).toEqual(['complete']);
  });

  test('answers OpenMetrics where Accept asks for it, and compresses where gzip is accepted', async () => {
    const { origin } = await served();
    const plain = await get(`${origin}/metrics`, { headers: { accept: OPEN_METRICS } });
    expect(plain.headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(plain.text).toMatch(/\n# EOF\n$/);
    expect(plain.headers.vary).toBe('Accept, Accept-Encoding');
    const got = await get(`${origin}/metrics`, { headers: { accept: OPEN_METRICS, 'accept-encoding': 'gzip' } });
    expect(got.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(got.bytes).toString()).toBe(plain.text);
  });

  test('counts a scrape as partial when a due read is not fresh', async () => {
    const { app, origin } = await served();
    app.collector.complete = false;
    await get(`${origin}/metrics`);
    expect(app.scraped).toEqual(['partial']);
  });

  test('judges freshness by the time the scrape began', async () => {
    const { app, origin } = await served();
    const { promise, resolve } = deferred();
    app.collector.gate = promise;
    const scrape = get(`${origin}/metrics`);
    await eventually(() => expect(app.collector.refreshes).toHaveLength(1));
    app.clock += 5_000;
    resolve();
    await scrape;
    expect(app.collector.asOf).toEqual([TEST_NOW * 1000]);
  });

  test('counts the series that a response drops', async () => {
    const timeouts = { default_scrape_timeout: 10_000, scrape_timeout_offset: 500, max_age: 300_000 };
    const collection = () => ({ ...timeouts, background: false, max_series: 2 });
    const { app, origin } = await served({ dependencies: { collection } });
    const cut = { family: 'newrelic_custom_depth', series: 3, reading: {} };
    app.collector.cut = [cut];
    await get(`${origin}/metrics`);
    expect(app.dropped).toContainEqual(cut);
    expect(app.dropped).toContainEqual(
      expect.objectContaining({ family: 'newrelic_application_component_time_seconds', series: 2 }),
    );
    app.dropped.length = 0;
    await get(`${origin}/metrics?collect[]=application_metrics`);
    expect(app.dropped).toContainEqual(cut);
  });

  test('never answers 304 or a partial response, whatever the request says', async () => {
    const { origin } = await served();
    for (const path of ['/metrics', '/sd', '/config', '/api/status', '/']) {
      const headers = { 'if-none-match': '*', 'if-modified-since': new Date().toUTCString(), range: 'bytes=0-0' };
      expect((await get(`${origin}${path}`, { headers })).status).toBe(200);
    }
  });

  test.each([
    ['/metrics', 'newrelic_application_response_time_seconds'],
    ['/sd', '__param_app_id'],
  ])('%s refreshes nothing in background mode', async (path, text) => {
    const { app, origin } = await served({ background: true });
    expect((await get(`${origin}${path}`)).text).toContain(text);
    expect(app.collector.refreshes).toEqual([]);
  });

  test('writes a response of many megabytes completely to a client that reads slowly', async () => {
    const { app, port, origin } = await served();
    app.collector.blocks = Array.from({ length: 20_000 }, (_, index) => breakdownBlock('production', index, 'shop'));
    const whole = await get(`${origin}/metrics`);
    expect(whole.bytes.length).toBeGreaterThan(5_000_000);
    const socket = asking(port, ['Connection: close']);
    let received = 0;
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received += chunk.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(received).toBeGreaterThan(whole.bytes.length);
  });

  test('renders once for all clients that ask before the rendering begins, and anew for later clients', async () => {
    const { app, origin } = await served();
    const { promise, resolve } = deferred();
    app.collector.answered = promise;
    const first = get(`${origin}/metrics`);
    await eventually(() => expect(app.collector.asOf).toHaveLength(1));
    app.collector.blocks = [breakdownBlock('production', 8, 'newer')];
    const later = [get(`${origin}/metrics`), get(`${origin}/metrics`)];
    await eventually(() => expect(app.collector.refreshes).toHaveLength(3));
    await new Promise((turn) => setImmediate(turn));
    resolve();
    expect((await first).text).not.toContain('newer');
    for (const { text } of await Promise.all(later)) expect(text).toContain('newer');
    expect(app.collector.asOf).toHaveLength(2);
    expect(app.scraped).toHaveLength(3);
  });
});

describe('the scraper’s deadline', () => {
  test.each<[milliseconds: number, header?: string]>([[9_500], [4_500, '5']])(
    'is the timeout minus the offset: %d ms',
    async (milliseconds, header) => {
      const { app, origin } = await served();
      const headers = header === undefined ? {} : { 'X-Prometheus-Scrape-Timeout-Seconds': header };
      await get(`${origin}/metrics`, { headers });
      expect(app.collector.refreshes[0]?.waitMs).toBe(milliseconds);
    },
  );

  test('leaves out the time that the last response of the same groups took to write', async () => {
    const ownMetrics = () => {
      app.clock += 1_500;
      return Promise.resolve([]);
    };
    const { app, origin } = await served({ dependencies: { ownMetrics } });
    await get(`${origin}/metrics`);
    await get(`${origin}/metrics?collect[]=hosts`);
    await get(`${origin}/metrics`);
    await get(`${origin}/metrics?collect[]=hosts&collect[]=exporter`);
    await get(`${origin}/metrics?collect[]=hosts`);
    expect(app.collector.refreshes.map(({ waitMs }) => waitMs)).toEqual([9_500, 9_500, 9_500 - 1_500, 9_500, 9_500]);
  });
});

describe('a scraper that disconnects while its response is rendered', () => {
  test('makes the next response begin earlier, by the time that the scraper waited', async () => {
    const { app, port } = await served();
    app.collector.answered = deferred().promise;
    const giveUpAfter = async (milliseconds: number): Promise<void> => {
      const asked = app.collector.asOf.length;
      const socket = asking(port);
      await eventually(() => expect(app.collector.asOf).toHaveLength(asked + 1));
      app.clock += milliseconds;
      socket.destroy();
      await once(socket, 'close');
    };
    const waits = () => app.collector.refreshes.at(-1)?.waitMs;
    for (const [milliseconds, wait] of [
      [500, 9_500 - 500],
      [1_000, 9_500 - 1_000],
      // A scraper that disconnects at once has another reason, so the time does not change.
      [10, 9_500 - 1_000],
    ] as const) {
      await giveUpAfter(milliseconds);
      await eventually(async () => {
        await giveUpAfter(0);
        expect(waits()).toBe(wait);
      });
    }
    expect(app.failures).toEqual([]);
  });
});

describe('a scraper that disconnects while it receives its response', () => {
  test('makes the next response begin earlier and frees its slot; a HEAD changes no time', async () => {
    const { app, port, origin } = await served({ settings: { maxRequests: 1 } });
    app.collector.blocks = Array.from({ length: 20_000 }, (_, index) => breakdownBlock('production', index, 'shop'));
    const socket = asking(port);
    await once(socket, 'data');
    app.clock += 1_000;
    socket.destroy();
    await eventually(async () => {
      expect((await get(`${origin}/metrics`, { method: 'HEAD' })).status).toBe(200);
      expect(app.collector.refreshes.at(-1)?.waitMs).toBe(9_500 - 1_000);
    });
    expect(app.failures).toEqual([]);
  });
});

describe('collect[]', () => {
  test('answers and refreshes the named groups only', async () => {
    const { app, origin } = await served();
    const got = await get(`${origin}/metrics?collect[]=application_metrics&collect%5B%5D=hosts`);
    expect(app.collector.refreshes.map(({ groups }) => groups)).toEqual([['application_metrics', 'hosts']]);
    expect(got.text).toContain('newrelic_application_response_time_seconds');
    expect(got.text).not.toContain('newrelic_up');
    expect((await get(`${origin}/metrics?collect[]=hosts`)).text).not.toContain('newrelic_application_');
  });

  test('exporter alone makes no calls to New Relic', async () => {
    const { app, origin } = await served();
    const got = await get(`${origin}/metrics?collect[]=exporter`);
    expect(got.text).toContain('newrelic_up 1');
    expect(got.text).not.toContain('newrelic_application_');
    expect(app.collector.refreshes).toEqual([]);
  });

  test('refuses an unknown name and lists the known names', async () => {
    const { app, origin } = await served();
    const got = await get(`${origin}/metrics?collect[]=applications&collect[]=nonsense`);
    expect(got.status).toBe(400);
    expect(got.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(got.text).toBe(
      'Unknown group "nonsense" in collect[]; known are applications, key_transactions, metric_names, application_metrics, counters, hosts, host_metrics, instances, custom_metrics, entities, golden_metrics, queries, exporter.\n',
    );
    expect(app.collector.refreshes).toEqual([]);
    expect((await get(`${origin}/metrics?collect[]=`)).status).toBe(400);
    const long = await get(`${origin}/metrics?collect[]=${'x'.repeat(61)}`);
    expect([long.status, long.text]).toEqual([400, expect.stringContaining(`"${'x'.repeat(60)}..." in collect[]`)]);
  });
});

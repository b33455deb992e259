import { describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { served } from './support/app.ts';
import { deferred } from './support/deferred.ts';
import { hostileClients, requestText } from './support/hostile.ts';
import { get } from './support/http.ts';
import { sendRaw } from './support/raw.ts';

const PATHS = ['/metrics', '/probe?account=production&app_id=7'];

/** An exporter whose New Relic does not answer until `resolve`. */
async function waitingFor(maxRequests: number) {
  const { promise, resolve } = deferred();
  const running = await served({ settings: { maxRequests } });
  const { collector } = running.app;
  collector.gate = promise;
  const waits = (): number[] => [...collector.refreshes, ...collector.probes].map(({ waitMs }) => waitMs);
  return { ...running, resolve, waits, ask: (path: string) => get(`${running.origin}${path}`) };
}

describe('--web.max-requests', () => {
  test.each(PATHS)('answers further requests at once from held data: %s', async (path) => {
    const { app, ask, waits, resolve } = await waitingFor(2);
    const waiting = PATHS.map(ask);
    await eventually(() => expect(waits()).toEqual([9_500, 9_500]));
    const more = [ask(path), ask(path)];
    await eventually(() => expect(waits().filter((waitMs) => waitMs === 0)).toHaveLength(2));
    resolve();
    for (const { status } of await Promise.all([...waiting, ...more])) expect(status).toBe(200);
    await eventually(async () => {
      await ask('/metrics');
      expect(app.collector.refreshes.at(-1)?.waitMs).toBe(9_500);
    });
  });

  test.each([
    ['256', 2, 256],
    ['its own number of', 300, 300],
  ])('answers 503 to scrapes beyond %s requests, and still answers pages', async (_, maxRequests, most) => {
    const { ask, waits, resolve } = await waitingFor(maxRequests);
    const waiting = Array.from({ length: most }, (_each, index) => ask(PATHS[index % 2] ?? ''));
    await eventually(() => expect(waits()).toHaveLength(most));
    const refused = await ask('/metrics');
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('--web.max-requests')]);
    for (const path of ['/', '/-/healthy', '/-/ready']) expect((await ask(path)).status).toBe(200);
    resolve();
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
    await eventually(async () => expect((await ask('/metrics')).status).toBe(200));
  });

  test('sets no limit with 0', async () => {
    const { ask, waits, resolve } = await waitingFor(0);
    const waiting = Array.from({ length: 300 }, () => ask('/metrics'));
    await eventually(() => expect(waits()).toHaveLength(300));
    expect(new Set(waits())).toEqual(new Set([9_500]));
    resolve();
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  test('does not count clients that have disconnected', async () => {
    const { port, ask, waits, resolve } = await waitingFor(30);
    for (let round = 1; round <= 2; round += 1) {
      const clients = await hostileClients(30, port);
      clients.forEach(({ socket }) => socket.write(requestText('/metrics')));
      await eventually(() => expect(waits()).toHaveLength(30 * round));
      clients.forEach(({ socket }) => socket.destroy());
      await Promise.all(clients.map(({ closed }) => closed));
      await ask('/-/healthy');
    }
    resolve();
    await eventually(async () => {
      await ask('/metrics');
      expect(waits().at(-1)).not.toBe(0);
    });
    expect(waits().slice(0, 60)).toEqual(Array(60).fill(9_500));
  });

  test('answers pipelined requests of one connection in their order', async () => {
    const { port } = await served({ settings: { maxRequests: 1 } });
    const ahead = requestText('/metrics').repeat(9) + requestText('/-/healthy', ['Connection: close']);
    const { text } = await sendRaw(port, ahead);
    expect(text.match(/^HTTP\/1\.1 200 /gm)).toHaveLength(10);
    expect(text.trimEnd().endsWith('Healthy')).toBe(true);
  });
});

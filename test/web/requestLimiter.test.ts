import { once } from 'node:events';
import type { Socket } from 'node:net';
import express from 'express';
import { describe, expect, test } from 'vitest';
import { HttpError, type Handler } from '../../src/web/dependencies.ts';
import { RequestLimiter, InFlightBytes } from '../../src/web/requestLimiter.ts';
import { sendPieces, sendText } from '../../src/web/sending.ts';
import { serve } from './support/app.ts';
import { deferred } from './support/deferred.ts';
import { hostileClients, requestText } from './support/hostile.ts';
import { get } from './support/http.ts';
import { eventually } from '../support/eventually.ts';

const LARGE = Buffer.alloc(16_000_000, 'x');

/** A limiter, of whose slots two are held by clients that read nothing of a large response; the first asked before the second. */
async function taken({ max = 2, maxBytes = 1e9, fresh = false, count = 2 } = {}) {
  const state = { clock: 0 };
  const sockets: Socket[] = [];
  const inFlight = new InFlightBytes(() => state.clock, maxBytes);
  const limiter = new RequestLimiter(max, inFlight);
  const app = express();
  const serving = (path: string, body: (request: Parameters<Handler>[0]) => Buffer): void => {
    const handle = limiter.guard(async (request, response, slot) => {
      await sendPieces(response, [body(request)], slot);
    });
    app.get<object, unknown, unknown, URLSearchParams>(path, (request, response) =>
      Promise.resolve(handle(request, response)).catch((error: unknown) => {
        if (error instanceof HttpError) sendText(response, 503, error.message);
      }),
    );
  };
  serving('/large', ({ socket }) => {
    sockets.push(socket);
    const large = Buffer.from(LARGE);
    if (fresh) large.writeUInt32LE(sockets.length);
    return large;
  });
  serving('/small', () => Buffer.from('small'));
  const { origin, port } = await serve(app);
  const deaf = await hostileClients(count, port, { deaf: true });
  for (const [index, { socket }] of deaf.entries()) {
    socket.write(requestText('/large'));
    await eventually(() => expect(limiter.taken.writing).toBe(index + 1));
    await eventually(() => expect(inFlight.bytes).toBeGreaterThan(0));
    state.clock += 1;
  }
  return { origin, deaf, state, inFlight, limiter, sockets };
}

describe('the slots of responses', () => {
  test('are held by clients that are taking their responses, others get 503', async () => {
    const { origin, deaf } = await taken();
    const got = await get(`${origin}/small`);
    expect([got.status, got.text]).toEqual([503, expect.stringMatching(/^2 scrapes are being answered already/)]);
    for (const { socket } of deaf) socket.destroy();
    await eventually(async () => expect((await get(`${origin}/small`)).status).toBe(200));
  });

  test('are lost by a client that has taken nothing for two seconds to one that asks, the longest first', async () => {
    const { origin, deaf, state } = await taken();
    state.clock += 2_000;
    expect((await get(`${origin}/small`)).text).toBe('small');
    const [first, second] = deaf;
    first?.socket.resume();
    await first?.closed;
    expect(second?.socket.closed).toBe(false);
    deaf.forEach(({ socket }) => socket.destroy());
  });

  test('are kept by a slow client as long as another is free', async () => {
    const { origin, deaf, state } = await taken({ max: 3 });
    state.clock += 60_000;
    for (let round = 0; round < 3; round += 1) expect((await get(`${origin}/small`)).text).toBe('small');
    const [first] = deaf;
    let bytes = 0;
    first?.socket.on('data', (chunk) => (bytes += chunk.length)).resume();
    await eventually(() => expect(bytes).toBeGreaterThan(LARGE.length));
    deaf.forEach(({ socket }) => socket.destroy());
  });

  test('are not lost by a client that takes a little of its response every second', async () => {
    const { origin, deaf, state, sockets } = await taken();
    for (let round = 0; round < 4; round += 1) {
      for (const [index, { socket }] of deaf.entries()) {
        const before = sockets[index]?.bytesWritten ?? 0;
        // What it reads makes room for more, once the buffers between the two are emptied.
        while ((sockets[index]?.bytesWritten ?? 0) < before + 200_000) {
          socket.read();
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      state.clock += 1_000;
      expect((await get(`${origin}/small`)).status).toBe(503);
    }
    expect(deaf.some(({ socket }) => socket.closed)).toBe(false);
    deaf.forEach(({ socket }) => socket.destroy());
  });
});

describe('the bytes of responses in flight', () => {
  test('count equal pieces once for all who take them, and go with the last of them', async () => {
    const { deaf, inFlight } = await taken();
    expect(inFlight.bytes).toBe(LARGE.length);
    deaf[0]?.socket.destroy();
    await deaf[0]?.closed;
    expect(inFlight.bytes).toBe(LARGE.length);
    deaf[1]?.socket.destroy();
    await eventually(() => expect(inFlight.bytes).toBe(0));
  });

  test('leave no room for one more while every reader takes its response, and take it from one that does not', async () => {
    const { origin, deaf, inFlight, state } = await taken({ max: 0, maxBytes: 2 * LARGE.length + 100, fresh: true });
    expect(inFlight.bytes).toBe(2 * LARGE.length);
    const refused = await get(`${origin}/large`);
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('as many bytes as may be under way')]);
    expect((await get(`${origin}/small`)).status).toBe(200);
    state.clock += 2_000;
    expect((await get(`${origin}/large`)).bytes).toHaveLength(LARGE.length);
    deaf[0]?.socket.resume();
    await deaf[0]?.closed;
    expect(inFlight.bytes).toBeLessThanOrEqual(2 * LARGE.length);
    deaf.forEach(({ socket }) => socket.destroy());
  });

  test('let one response go that is larger than all may be together', async () => {
    const { origin, deaf, inFlight } = await taken({ max: 0, maxBytes: 1, count: 1 });
    expect(inFlight.bytes).toBe(LARGE.length);
    expect((await get(`${origin}/small`)).status).toBe(503);
    deaf[0]?.socket.destroy();
    await eventually(async () => expect((await get(`${origin}/large`)).bytes).toHaveLength(LARGE.length));
  });
});

describe('clients that wait for New Relic', () => {
  /** A limiter whose slots are all free, and a path that waits until its gate opens or its wait is ended. */
  async function waiting(max: number) {
    const inFlight = new InFlightBytes(() => 0);
    const limiter = new RequestLimiter(max, inFlight);
    const gate = deferred();
    const ended: number[] = [];
    let asked = 0;
    const app = express();
    app.get(
      '/wait',
      limiter.guard(async (request, response, slot) => {
        const number = (asked += 1);
        await slot.waitFor(async (signal) => {
          await Promise.race([gate.promise, once(signal, 'abort')]);
          if (signal.aborted) ended.push(number);
        });
        await sendPieces(response, [Buffer.from(`response ${request.url.split('=')[1]}`)], slot);
      }),
    );
    const { origin, port } = await serve(app);
    const ask = async (n: number) => {
      const before = asked;
      const response = get(`${origin}/wait?n=${n}`);
      await eventually(() => expect(asked).toBe(before + 1));
      return { response };
    };
    return { ask, limiter, gate, ended, port };
  }

  test('give way to one more, the one that has waited longest first, and are answered at once', async () => {
    const { ask, gate, ended, limiter } = await waiting(2);
    const first = await ask(1);
    const second = await ask(2);
    const third = await ask(3);
    expect((await first.response).text).toBe('response 1');
    expect([ended, limiter.taken.waiting]).toEqual([[1], 2]);
    const fourth = await ask(4);
    expect((await second.response).text).toBe('response 2');
    expect(ended).toEqual([1, 2]);
    gate.resolve();
    expect((await third.response).text).toBe('response 3');
    expect((await fourth.response).text).toBe('response 4');
    await eventually(() => expect(limiter.taken).toEqual({ waiting: 0, writing: 0 }));
  });

  test('wait for any number of accounts without a warning', async () => {
    const limiter = new RequestLimiter(1, new InFlightBytes(() => 0));
    const app = express();
    app.get(
      '/',
      limiter.guard(async (_request, response, slot) => {
        await slot.waitFor((signal) => {
          for (let account = 0; account < 11; account += 1) signal.addEventListener('abort', () => undefined);
          return Promise.resolve();
        });
        sendText(response, 200, 'answered');
      }),
    );
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    expect((await get(`${(await serve(app)).origin}/`)).text).toBe('answered\n');
    process.off('warning', warned);
    expect(warnings).toEqual([]);
  });

  test('wait for nothing once they have gone, and hold no slot', async () => {
    const { limiter, ended, port, gate } = await waiting(40);
    for (let round = 1; round <= 3; round += 1) {
      const clients = await hostileClients(30, port);
      clients.forEach(({ socket }) => socket.write(requestText('/wait')));
      await eventually(() => expect(limiter.taken.waiting).toBe(30));
      clients.forEach(({ socket }) => socket.destroy());
      await eventually(() => expect(limiter.taken).toEqual({ waiting: 0, writing: 0 }));
      expect(ended).toHaveLength(30 * round);
    }
    gate.resolve();
  });
});

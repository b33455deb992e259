import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import express from 'express';
import { describe, expect, test } from 'vitest';
import { watchClient } from '../../src/web/clientGone.ts';
import { sendAnswer } from '../../src/web/sending.ts';
import { WritePlaces } from '../../src/web/writePlaces.ts';
import { eventually } from '../support/eventually.ts';
import { serve } from './support/app.ts';
import { hostileClients, requestText } from './support/hostile.ts';
import { get } from './support/http.ts';

/** More than the buffers between a server and its client hold. */
const LARGE = Buffer.alloc(16_000_000, 'x');
const FORM = { contentType: 'text/plain', gzip: false };

/** A server with a large and a small answer, and the clients that read nothing of the large one. */
async function serveAnswers(deafClients: number, target: (index: number) => string = () => '/large') {
  const state = { clock: 0, renders: 0, looks: 0 };
  const places = new WritePlaces(() => {
    state.looks += 1;
    return state.clock;
  });
  const app = express();
  const sockets: Socket[] = [];
  const answer = (path: string, render: (limit: number) => Buffer): void => {
    app.get(path, async (request, response) => {
      sockets.push(request.socket);
      const client = { gone: watchClient(response), places };
      await sendAnswer(response, FORM, (limit) => Promise.resolve([render(limit)]), client).catch(() => undefined);
    });
  };
  answer('/large', (limit) => {
    // An answer that ends at a limit holds nearly nothing.
    if (limit < LARGE.length) return LARGE.subarray(0, limit + 1);
    state.renders += 1;
    return LARGE;
  });
  answer('/small', () => LARGE.subarray(0, 64 * 1024));
  const { origin, port } = await serve(app);
  const deaf = await hostileClients(deafClients, port, { deaf: true });
  for (const [index, { socket }] of deaf.entries()) {
    socket.write(requestText(target(index)));
    await eventually(() => expect(places.taken.writing + places.taken.waiting).toBe(index + 1));
  }
  /** Waits until the server can write no more to the clients that read nothing. */
  const stuck = async (): Promise<void> => {
    let written = -1;
    await eventually(() => {
      const before = written;
      written = sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
      expect(written).toBe(before);
    });
  };
  return { origin, port, deaf, state, places, sockets, stuck };
}

describe('large answers', () => {
  test('are written to eight clients at once; a ninth client waits, and small answers need no place', async () => {
    const { origin, deaf, places } = await serveAnswers(9);
    expect(places.taken).toEqual({ writing: 8, waiting: 1 });
    expect((await get(`${origin}/small`)).bytes).toHaveLength(64 * 1024);
    deaf[0]?.socket.destroy();
    await eventually(() => expect(places.taken).toEqual({ writing: 8, waiting: 0 }));
    for (const { socket } of deaf) socket.destroy();
    await eventually(() => expect(places.taken).toEqual({ writing: 0, waiting: 0 }));
    expect((await get(`${origin}/large`, { method: 'HEAD' })).headers['content-length']).toBe(String(LARGE.length));
  });

  test.each([
    ['of one URL', () => '/large'],
    ['of a URL for each client, which does not show the size', (index: number) => `/large?${index}`],
  ])('are rendered at their turn, so that waiting answers take no memory: %s', async (_, target) => {
    const { deaf, places, state } = await serveAnswers(20, target);
    expect([places.taken, state.renders]).toEqual([{ writing: 8, waiting: 12 }, 8]);
    deaf.at(-1)?.socket.destroy();
    await eventually(() => expect(places.taken.waiting).toBe(11));
    deaf[0]?.socket.destroy();
    await eventually(() => expect([places.taken.waiting, state.renders]).toEqual([10, 9]));
    for (const { socket } of deaf) socket.destroy();
  });

  test('keep their place until the socket has sent the last byte', async () => {
    const { deaf, places, sockets, stuck } = await serveAnswers(1);
    await stuck();
    expect(sockets[0]?.bytesWritten).toBeLessThan(LARGE.length);
    expect(places.taken.writing).toBe(1);
    deaf[0]?.socket.resume();
    await eventually(() => expect(places.taken.writing).toBe(0));
    expect(sockets[0]?.bytesWritten).toBeGreaterThan(LARGE.length);
  });
});

describe('a client that reads nothing for two seconds', () => {
  test('is cut off while another answer waits, and that answer is written', async () => {
    const { origin, deaf, state, places, sockets, stuck } = await serveAnswers(8);
    await stuck();
    const asked = get(`${origin}/large`);
    await eventually(() => expect(places.taken.waiting).toBe(1));
    state.clock += 1_999;
    const { looks } = state;
    await eventually(() => expect(state.looks).toBeGreaterThan(looks + 1));
    expect(sockets.some(({ destroyed }) => destroyed)).toBe(false);
    state.clock += 1;
    expect((await asked).bytes).toHaveLength(LARGE.length);
    expect(sockets.slice(0, 8).every(({ destroyed }) => destroyed)).toBe(true);
    for (const { socket } of deaf) socket.destroy();
  });

  test('keeps its place while no answer waits', async () => {
    const { origin, deaf, state, stuck } = await serveAnswers(7);
    await stuck();
    state.clock += 20_000;
    for (let round = 0; round < 3; round += 1) expect((await get(`${origin}/large`)).status).toBe(200);
    let bytes = 0;
    deaf[0]?.socket.on('data', (chunk) => (bytes += chunk.length)).resume();
    await eventually(() => expect(bytes).toBeGreaterThan(LARGE.length));
    for (const { socket } of deaf) socket.destroy();
  });

  test('is cut off, but a client that reads a little now and then is not', async () => {
    const { origin, deaf, state, places, sockets, stuck } = await serveAnswers(8);
    await stuck();
    const asked = get(`${origin}/large`);
    await eventually(() => expect(places.taken.waiting).toBe(1));
    const [reader] = deaf;
    for (let round = 0; round < 3; round += 1) {
      const before = sockets[0]?.bytesWritten ?? 0;
      while ((sockets[0]?.bytesWritten ?? 0) < before + 200_000) {
        reader?.socket.read();
        await new Promise((resolve) => setImmediate(resolve));
      }
      state.clock += 1_000;
    }
    await asked;
    expect(sockets.slice(0, 8).map(({ destroyed }) => destroyed)).toEqual([false, ...Array<boolean>(7).fill(true)]);
    for (const { socket } of deaf) socket.destroy();
  });
});

describe('room to write an answer', () => {
  const MB = 1_000_000;
  const stays = new AbortController().signal;
  setMaxListeners(0, stays);
  const response = {} as never;

  test.each<[what: string, written: readonly number[], bytes: number, hasRoom: boolean]>([
    ['exists for a first answer of any size', [], 900 * MB, true],
    ['is 128 MB beside the first answer', [900 * MB], 128 * MB, true],
    ['is no more than 128 MB beside the first answer', [900 * MB], 128 * MB + 1, false],
    ['is shared by all answers but the first', [900 * MB, 100 * MB], 28 * MB, true],
    ['is full when the other answers take 128 MB', [900 * MB, 100 * MB], 28 * MB + 1, false],
    ['exists for an eighth answer', Array<number>(7).fill(1), 1, true],
    ['does not exist for a ninth answer', Array<number>(8).fill(1), 1, false],
  ])('%s', async (_, written, bytes, hasRoom) => {
    const places = new WritePlaces(() => 0);
    for (const each of written) await places.enter(response, each, stays);
    expect(places.hasRoom(bytes)).toBe(hasRoom);
  });

  test('ends for an answer that proves too large beside others, except the oldest answer', async () => {
    const places = new WritePlaces(() => 0);
    const [oldest, second] = [await places.enter(response, 1, stays), await places.enter(response, 1, stays)];
    expect(places.resize(oldest, 900 * MB)).toBe(true);
    expect([places.resize(second, 128 * MB), places.resize(second, 128 * MB + 1)]).toEqual([true, false]);
  });

  test('goes to the request that came last, and to no client that has disconnected', async () => {
    const places = new WritePlaces(() => 0);
    const writing = await Promise.all(Array.from({ length: 8 }, () => places.enter(response, 1, stays)));
    const leaving = new AbortController();
    const entered: string[] = [];
    const ask = (name: string, gone = stays) => places.enter(response, 1, gone).then(() => entered.push(name));
    const aborted = expect(ask('gone', leaving.signal)).rejects.toThrow('aborted');
    const waiting = ['first', 'second', 'third'].map((name) => ask(name));
    leaving.abort();
    await aborted;
    for (const place of writing.slice(0, 3)) {
      places.leave(place);
    }
    await Promise.all(waiting);
    expect(entered).toEqual(['third', 'second', 'first']);
    expect(places.taken).toEqual({ writing: 8, waiting: 0 });
  });
});

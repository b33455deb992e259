import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ClientGoneError } from '../../src/web/clientGone.ts';
import { SharedWork } from '../../src/web/sharedWork.ts';
import { deferred } from './support/deferred.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Work that ends when its gate opens or it is abandoned, and a note of all that was begun and abandoned. */
function noted(joinUntil: 'begin' | 'end' = 'end') {
  const shared = new SharedWork<string>(joinUntil);
  const begun: string[] = [];
  const abandoned: string[] = [];
  const ask = (key: string, { gate = Promise.resolve(), gone = new AbortController().signal, arrival = 0 } = {}) =>
    shared.of(key, { arrival, gone }, async (signal) => {
      begun.push(key);
      await Promise.race([gate, once(signal, 'abort')]);
      if (signal.aborted) abandoned.push(key);
      signal.throwIfAborted();
      return `result of ${key}`;
    });
  return { ask, begun, abandoned };
}

describe('shared work', () => {
  test('is done once for all who ask for the same meanwhile, and anew for one who asks later', async () => {
    const { ask, begun } = noted();
    const { promise: gate, resolve } = deferred();
    const asked = [ask('page', { gate }), ask('page', { gate })];
    await settle();
    const joined = ask('page', { gate });
    resolve();
    expect(await Promise.all([...asked, joined])).toEqual(Array(3).fill('result of page'));
    expect(begun).toEqual(['page']);
    await ask('page');
    expect(begun).toEqual(['page', 'page']);
  });

  test('is not joined once it has begun, where its result may then be too old', async () => {
    const { ask, begun } = noted('begin');
    const { promise: gate, resolve } = deferred();
    const first = ask('page', { gate });
    await settle();
    const later = [ask('page'), ask('page')];
    resolve();
    await Promise.all([first, ...later]);
    expect(begun).toEqual(['page', 'page']);
  });

  test('is done one after the other, also after one that failed', async () => {
    const { ask, begun } = noted();
    const { promise: gate, resolve } = deferred();
    const failing = expect(ask('a', { gate: gate.then(() => Promise.reject(new Error('broken'))) })).rejects.toThrow(
      'broken',
    );
    const next = ask('b');
    await settle();
    expect(begun).toEqual(['a']);
    resolve();
    await failing;
    expect(await next).toBe('result of b');
  });

  test('is done next for the client that arrived last, of equal ones for the first to ask', async () => {
    const { ask, begun } = noted();
    const { promise: gate, resolve } = deferred();
    const asked = [
      ask('running', { gate, arrival: 9 }),
      ask('joined', { arrival: 1 }),
      ...[3, 4, 2].map((arrival) => ask(`alone ${arrival}`, { arrival })),
      ask('equal', { arrival: 3 }),
      ask('joined', { arrival: 5 }),
    ];
    resolve();
    await Promise.all(asked);
    expect(begun).toEqual(['running', 'joined', 'alone 4', 'alone 3', 'equal', 'alone 2']);
  });

  test('goes on while one of its clients is there, and ends when the last has left; the next one begins anew', async () => {
    const { ask, begun, abandoned } = noted();
    const { promise: gate } = deferred();
    const [first, second] = [new AbortController(), new AbortController()];
    const left = [first, second].map(({ signal: gone }) =>
      expect(ask('page', { gate, gone })).rejects.toThrow(ClientGoneError),
    );
    await settle();
    first.abort();
    await settle();
    expect(abandoned).toEqual([]);
    second.abort();
    await settle();
    expect(await ask('page')).toBe('result of page');
    await Promise.all(left);
    expect([begun, abandoned]).toEqual([['page', 'page'], ['page']]);
  });

  test('is never begun for clients that have left before its turn', async () => {
    const { ask, begun } = noted();
    const { promise: gate, resolve } = deferred();
    const first = ask('a', { gate });
    const leaving = new AbortController();
    const left = expect(ask('b', { gone: leaving.signal })).rejects.toThrow(ClientGoneError);
    const last = ask('c');
    leaving.abort();
    resolve();
    await Promise.all([first, left, last]);
    expect(begun).toEqual(['a', 'c']);
  });
});

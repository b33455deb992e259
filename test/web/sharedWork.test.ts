import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { SharedWork } from '../../src/web/sharedWork.ts';
import { deferred } from './support/deferred.ts';

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Work that ends when its gate opens or it is abandoned, and a note of all that was begun and abandoned. */
function noted() {
  const shared = new SharedWork<string>();
  const begun: string[] = [];
  const abandoned: string[] = [];
  const ask = (key: string, { gate = Promise.resolve(), gone = new AbortController().signal } = {}) =>
    shared.share(key, gone, async (signal) => {
      begun.push(key);
      await Promise.race([gate, once(signal, 'abort')]);
      if (signal.aborted) abandoned.push(key);
      signal.throwIfAborted();
      return `result of ${key}`;
    });
  return { ask, begun, abandoned };
}

describe('shared work', () => {
  test('runs once for all clients that ask for one key before it begins', async () => {
    const { ask, begun } = noted();
    const { promise: gate, resolve } = deferred();
    const asked = [ask('other', { gate }), ask('page'), ask('page'), ask('page')];
    await settle();
    resolve();
    expect((await Promise.all(asked)).slice(1)).toEqual(Array(3).fill('result of page'));
    expect(begun).toEqual(['other', 'page']);
    await ask('page');
    expect(begun).toEqual(['other', 'page', 'page']);
  });

  test('runs again for clients that ask after it has begun, because its result may be too old', async () => {
    const { ask, begun } = noted();
    const { promise: gate, resolve } = deferred();
    const first = ask('page', { gate });
    await settle();
    const later = [ask('page'), ask('page')];
    resolve();
    await Promise.all([first, ...later]);
    expect(begun).toEqual(['page', 'page']);
  });

  test('runs one key at a time, also after a failure', async () => {
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

  test('runs first for the client that asked last', async () => {
    const { ask, begun } = noted();
    await Promise.all(['running', 'a', 'b', 'c', 'a'].map((key) => ask(key)));
    expect(begun).toEqual(['running', 'a', 'c', 'b']);
  });

  test('runs while one of its clients is connected, and ends with the last; the next client begins anew', async () => {
    const { ask, begun, abandoned } = noted();
    const { promise: gate } = deferred();
    const [first, second] = [new AbortController(), new AbortController()];
    const before = ask('before');
    const aborted = [first, second].map(({ signal: gone }) =>
      expect(ask('page', { gate, gone })).rejects.toThrow('aborted'),
    );
    await before;
    await settle();
    first.abort();
    await settle();
    expect(abandoned).toEqual([]);
    second.abort();
    await settle();
    expect(await ask('page')).toBe('result of page');
    await Promise.all(aborted);
    expect([begun, abandoned]).toEqual([['before', 'page', 'page'], ['page']]);
  });

  test('never begins for clients that disconnect before its turn', async () => {
    const { ask, begun } = noted();
    const { promise: gate, resolve } = deferred();
    const first = ask('a', { gate });
    const leaving = new AbortController();
    const aborted = expect(ask('b', { gone: leaving.signal })).rejects.toThrow('aborted');
    const last = ask('c');
    leaving.abort();
    resolve();
    await Promise.all([first, aborted, last]);
    expect(begun).toEqual(['a', 'c']);
  });
});

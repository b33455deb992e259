import { describe, expect, it } from 'vitest';
import { inSlices } from '../../src/eventLoop/turns.ts';

/** Counts the turns of the event loop until it is stopped. */
function countTurns(): { readonly turn: () => number; readonly stop: () => void } {
  let turn = 0;
  let running = true;
  const next = (): void => {
    turn += 1;
    if (running) setImmediate(next);
  };
  setImmediate(next);
  return { turn: () => turn, stop: () => void (running = false) };
}

/** Keeps the event loop busy for a number of milliseconds. */
function work(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

/** Resolves in a turn without other work. */
function freshTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

describe('work in slices', () => {
  it('processes each element once and in order, and gives each long element a turn', async () => {
    await freshTurn();
    const { turn, stop } = countTurns();
    const taken: [element: number, turn: number][] = [];
    await inSlices([1, 2, 3, 4, 5], (element) => {
      taken.push([element, turn()]);
      work(11);
    });
    stop();
    expect(taken.map(([element]) => element)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(taken.map(([, inTurn]) => inTurn)).size).toBe(5);
  });

  it('does much short work in one turn', async () => {
    await freshTurn();
    const { turn, stop } = countTurns();
    await inSlices(Array.from({ length: 1000 }), () => undefined);
    stop();
    expect(turn()).toBeLessThan(100);
  });

  it('shares the time of a turn with all other work of the turn', async () => {
    await freshTurn();
    const { turn, stop } = countTurns();
    const taken: number[] = [];
    const take = (): void => {
      taken.push(turn());
      work(6);
    };
    await Promise.all(['parsed', 'packed', 'written'].map(() => inSlices([1, 2], take)));
    stop();
    const most = Math.max(...taken.map((inTurn) => taken.filter((other) => other === inTurn).length));
    expect(most).toBeLessThanOrEqual(2);
  });

  it('gives turns to waiting work in the order of arrival', async () => {
    await freshTurn();
    const { turn, stop } = countTurns();
    const taken: [name: string, turn: number][] = [];
    const slices = async (name: string, count: number): Promise<void> =>
      inSlices(Array.from({ length: count }), () => {
        taken.push([name, turn()]);
        work(11);
      });
    work(1);
    await Promise.all([slices('first', 1), slices('a', 3), slices('b', 2), slices('c', 1)]);
    stop();
    expect(taken.map(([name]) => name)).toEqual(['first', 'a', 'b', 'c', 'a', 'b', 'a']);
    expect(new Set(taken.map(([, inTurn]) => inTurn)).size).toBe(taken.length);
  });

  it('lets timers and input run in between', async () => {
    let isOver = false;
    setTimeout(() => (isOver = true), 0);
    const untilTimer = (function* () {
      while (!isOver) yield;
    })();
    await inSlices(untilTimer);
    expect(isOver).toBe(true);
  });

  it('stops with the reason of its signal', async () => {
    const client = new AbortController();
    const endless = (function* () {
      for (;;) yield;
    })();
    setImmediate(() => client.abort(new Error('nobody waits')));
    await expect(inSlices(endless, undefined, client.signal)).rejects.toThrow('nobody waits');
  });
});

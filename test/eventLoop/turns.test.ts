import { stat } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  inSlices,
  yieldToEventLoop,
  yieldIfDue,
  yieldSoonAfterInput,
  yieldAfterInput,
} from '../../src/eventLoop/turns.ts';

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

describe('waiting for the next turn of the event loop', () => {
  it('gives each turn to one of those that wait, in the order in which they came', async () => {
    const { turn, stop } = countTurns();
    const given: [name: string, turn: number][] = [];
    const work = async (name: string, portions: number): Promise<void> => {
      for (let portion = 0; portion < portions; portion += 1) {
        await yieldToEventLoop();
        given.push([name, turn()]);
      }
    };
    await Promise.all([work('a', 3), work('b', 2), work('c', 1)]);
    stop();
    expect(given.map(([name]) => name)).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
    expect(new Set(given.map(([, at]) => at)).size).toBe(given.length);
  });

  it('lets timers and input have their turn between two portions', async () => {
    let fired = false;
    setTimeout(() => (fired = true), 0);
    for (let portion = 0; !fired; portion += 1) {
      expect(portion).toBeLessThan(1_000_000);
      await yieldToEventLoop();
    }
  });
});

/** Keeps the event loop busy for a number of milliseconds. */
function work(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

describe('work in portions', () => {
  it('ends a turn that has had its time, and after it does much short work in one turn again', async () => {
    await yieldToEventLoop();
    work(5);
    const due = yieldIfDue();
    expect(due).toBeInstanceOf(Promise);
    await due;
    const { turn, stop } = countTurns();
    await inSlices(Array.from({ length: 1000 }), () => undefined);
    stop();
    expect(turn()).toBeLessThan(100);
    await yieldToEventLoop();
    work(5);
    expect(yieldIfDue()).toBeInstanceOf(Promise);
  });

  it('shares the time of a turn with all other work of the same turn', async () => {
    const { turn, stop } = countTurns();
    const taken: number[] = [];
    const take = (): void => {
      taken.push(turn());
      work(3);
    };
    await yieldToEventLoop();
    await Promise.all(['parsed', 'taken over', 'written'].map(() => inSlices([1, 2], take)));
    stop();
    const most = Math.max(...taken.map((at) => taken.filter((other) => other === at).length));
    expect(most).toBeLessThanOrEqual(3);
    expect(new Set(taken).size).toBeGreaterThanOrEqual(3);
  });

  it('hands each element over once and in order, the long ones each in a turn of its own', async () => {
    const { turn, stop } = countTurns();
    const taken: [element: number, turn: number][] = [];
    await inSlices([1, 2, 3, 4, 5], (element) => {
      taken.push([element, turn()]);
      work(5);
    });
    stop();
    expect(taken.map(([element]) => element)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(taken.map(([, at]) => at)).size).toBe(5);
  });
});

/** How many turns of the event loop pass while something waits that was begun by input. */
function turnsSinceInput(wait: () => Promise<void>): Promise<number> {
  const { turn, stop } = countTurns();
  return new Promise((resolve) => {
    stat('.', () => {
      const began = turn();
      void wait().then(() => {
        stop();
        resolve(turn() - began);
      });
    });
  });
}

describe('waiting for a turn after input', () => {
  it('begins one turn later than what runs in the turn of the input itself, and goes on after twelve for input', async () => {
    expect(await turnsSinceInput(yieldToEventLoop)).toBe(12);
    expect(await turnsSinceInput(yieldAfterInput)).toBe(2);
    expect(await turnsSinceInput(yieldSoonAfterInput)).toBe(2);
  });

  it('lets begun work go first, and begins long work after eight of its turns at the latest', async () => {
    const given: string[] = [];
    const begun = async (): Promise<void> => {
      for (let portion = 0; portion < 20; portion += 1) {
        await yieldToEventLoop();
        given.push('begun');
      }
    };
    await Promise.all([begun(), yieldAfterInput().then(() => given.push('begins'))]);
    expect(given.indexOf('begins')).toBeGreaterThanOrEqual(8);
    expect(given.indexOf('begins')).toBeLessThan(12);
  });

  it('gives each turn to half of those that wait for small work, in the order in which they came', async () => {
    const { turn, stop } = countTurns();
    const given: [name: number, turn: number][] = [];
    const names = Array.from({ length: 10 }, (_, index) => index);
    await Promise.all(names.map((name) => yieldSoonAfterInput().then(() => given.push([name, turn()]))));
    stop();
    expect(given.map(([name]) => name)).toEqual(names);
    const sizes = [...new Set(given.map(([, at]) => at))].map((at) => given.filter(([, other]) => other === at).length);
    expect(sizes).toEqual([5, 3, 1, 1]);
  });

  it('keeps the order of those that come while others wait', async () => {
    const given: string[] = [];
    const first = ['a', 'b', 'c'].map((name) => yieldSoonAfterInput().then(() => given.push(name)));
    await yieldToEventLoop();
    const later = ['d', 'e'].map((name) => yieldSoonAfterInput().then(() => given.push(name)));
    await Promise.all([...first, ...later]);
    expect(given).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});

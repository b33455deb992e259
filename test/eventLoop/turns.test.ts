import { describe, expect, it } from 'vitest';
import { countTurns } from './countTurns.ts';
import { firstTurn, inTurns, nextTurn, Turns } from '../../src/eventLoop/turns.ts';

describe('waiting for the next turn of the event loop', () => {
  it('gives each turn to one of those that wait, in the order in which they came', async () => {
    const { turn, stop } = countTurns();
    const given: [name: string, turn: number][] = [];
    const work = async (name: string, portions: number): Promise<void> => {
      for (let portion = 0; portion < portions; portion += 1) {
        await nextTurn();
        given.push([name, turn()]);
      }
    };
    await Promise.all([work('a', 3), work('b', 2), work('c', 1)]);
    stop();
    expect(given.map(([name]) => name)).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
    expect(new Set(given.map(([, at]) => at)).size).toBe(given.length);
  });

  it('goes to what upstream calls wait for before everything else', async () => {
    const given: string[] = [];
    const note = (name: string, turn: Promise<void>): Promise<void> => turn.then(() => void given.push(name));
    await Promise.all([note('a', nextTurn()), note('b', nextTurn()), note('c', firstTurn()), note('d', nextTurn())]);
    expect(given).toEqual(['c', 'a', 'b', 'd']);
  });

  it('lets timers and input have their turn between two portions', async () => {
    let fired = false;
    setTimeout(() => (fired = true), 0);
    for (let portion = 0; !fired; portion += 1) {
      expect(portion).toBeLessThan(1_000_000);
      await nextTurn();
    }
  });
});

describe('work in portions', () => {
  it('waits after so many steps, however they come', async () => {
    const turns = new Turns(10);
    expect([turns.after(4), turns.after(5)]).toEqual([undefined, undefined]);
    const turn = turns.after(1);
    expect(turn).toBeInstanceOf(Promise);
    await turn;
    expect(turns.after(9)).toBeUndefined();
  });

  it('hands each element over once and in order, so many in a turn', async () => {
    const { turn, stop } = countTurns();
    const taken: [element: number, turn: number][] = [];
    await inTurns([1, 2, 3, 4, 5], 2, (element) => taken.push([element, turn()]));
    stop();
    expect(taken.map(([element]) => element)).toEqual([1, 2, 3, 4, 5]);
    const [first, , third, , fifth] = taken.map(([, at]) => at);
    expect(taken.map(([, at]) => at)).toEqual([first, first, third, third, fifth]);
    expect(new Set([first, third, fifth]).size).toBe(3);
  });
});

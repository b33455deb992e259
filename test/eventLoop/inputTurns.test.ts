import { stat } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { soonAfterInput, turnAfterInput } from '../../src/eventLoop/inputTurns.ts';
import { nextTurn } from '../../src/eventLoop/turns.ts';
import { countTurns } from './countTurns.ts';

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
  it('goes on one turn later than what runs in the turn of the input itself', async () => {
    expect(await turnsSinceInput(nextTurn)).toBe(1);
    expect(await turnsSinceInput(turnAfterInput)).toBe(2);
    expect(await turnsSinceInput(soonAfterInput)).toBe(2);
  });

  it('gives each turn to half of those that wait for small work, in the order in which they came', async () => {
    const { turn, stop } = countTurns();
    const given: [name: number, turn: number][] = [];
    const names = Array.from({ length: 10 }, (_, index) => index);
    await Promise.all(names.map((name) => soonAfterInput().then(() => given.push([name, turn()]))));
    stop();
    expect(given.map(([name]) => name)).toEqual(names);
    const sizes = [...new Set(given.map(([, at]) => at))].map((at) => given.filter(([, other]) => other === at).length);
    expect(sizes).toEqual([5, 3, 1, 1]);
  });

  it('keeps the order of those that come while others wait', async () => {
    const given: string[] = [];
    const first = ['a', 'b', 'c'].map((name) => soonAfterInput().then(() => given.push(name)));
    await nextTurn();
    const later = ['d', 'e'].map((name) => soonAfterInput().then(() => given.push(name)));
    await Promise.all([...first, ...later]);
    expect(given).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});

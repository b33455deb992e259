import { describe, expect, it } from 'vitest';
import type { LabelText } from '../../src/exposition/labelText.ts';
import { layOut } from '../../src/exposition/layout.ts';
import { piecesOf } from '../../src/exposition/pieces.ts';
import { inSlices } from '../../src/exposition/slices.ts';
import type { Block } from '../../src/metrics/sample.ts';
import { block, gauge } from '../support/expositionBlocks.ts';

const NO_ENTITIES: readonly LabelText[] = [];
const family = gauge('newrelic_x_seconds');

/** 20,000 series, of as many entities or of a single one. */
function series(entities: 'many' | 'one', repeated = false): Block[] {
  const ids = Array.from({ length: 20_000 }, (_, index) => String(repeated ? index % 10_000 : index));
  return entities === 'many'
    ? ids.map((app_id, index) => block({ app_id, app: 'checkout' }, [[family, index]]))
    : [
        block(
          { app: 'checkout' },
          ids.map((app_id, index) => [family, index, { app_id }] as const),
        ),
      ];
}

/** Runs the work through; how many times it gave way, and its result. */
function run<T, R>(work: Generator<T, R, undefined>): { readonly turns: number; readonly result: R } {
  for (let turns = 0; ; turns += 1) {
    const step = work.next();
    if (step.done === true) {
      return { turns, result: step.value };
    }
  }
}

describe('an answer of 20,000 series', () => {
  it.each(['many', 'one'] as const)('gives way every thousand lines, of %s entities', (entities) => {
    const layout = run(layOut(series(entities), NO_ENTITIES, Infinity));
    expect(layout.turns).toBeGreaterThanOrEqual(19);
    expect(run(piecesOf(layout.result, 'text', Infinity)).turns).toBeGreaterThanOrEqual(6);
  });

  it('gives way as well while series are compared one by one', () => {
    const plain = run(layOut(series('many'), NO_ENTITIES, Infinity)).turns;
    const compared = run(layOut(series('many', true), NO_ENTITIES, Infinity));
    expect(compared.result.duplicates).toBe(10_000);
    expect(compared.turns).toBeGreaterThanOrEqual(plain + 19);
  });

  it('uses the label text of the answer before, wherever an entity stands', () => {
    const blocks = series('many');
    const { entities } = run(layOut(blocks, NO_ENTITIES, Infinity)).result;
    const moved = run(layOut(blocks.slice(1), entities, Infinity)).result.entities;
    expect(moved.every((text, index) => text === entities[index + 1])).toBe(true);
  });
});

describe('sliced work', () => {
  it('lets the event loop turn at every yield, and hands over values in order', async () => {
    const seen: (number | string)[] = [];
    const work = (function* () {
      yield 1;
      setImmediate(() => seen.push('turn'));
      yield;
      yield 2;
      return 'result';
    })();
    expect(await inSlices(work, (value: number) => void seen.push(value))).toBe('result');
    expect(seen).toEqual([1, 'turn', 2]);
  });

  it('waits for who takes a value before it makes the next', async () => {
    const made: string[] = [];
    const work = (function* () {
      made.push('first made');
      yield 1;
      made.push('second made');
      yield 2;
    })();
    await inSlices(work, async (value: number) => {
      await new Promise((resolve) => setImmediate(resolve));
      made.push(`${value} taken`);
    });
    expect(made).toEqual(['first made', '1 taken', 'second made', '2 taken']);
  });
});

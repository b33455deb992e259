import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Labels } from '../../src/metrics/family.ts';
import { SampleWriter } from '../../src/metrics/writeSamples.ts';
import { gauge } from '../support/expositionBlocks.ts';

const FAMILY = gauge('newrelic_custom_queue_depth', 'custom_metrics');

const writer = new SampleWriter();

/** Writes a number of samples, whose labels are gone afterwards, and gives a weak reference to one of them. */
function writeAndForget(count: number): WeakRef<Labels> {
  const all = Array.from({ length: count }, (_, index): Labels => ({ queue: `${count}-${index}` }));
  const written = writer.write(
    'custom_metrics',
    all.map((labels) => ({ family: FAMILY, labels, value: 1 })),
  );
  expect(written.values).toHaveLength(count);
  return new WeakRef(all[0]!);
}

describe('samples that were written', () => {
  it('leave nothing behind when they are gone, however many there were of them', async () => {
    const references = Array.from({ length: 200 }, (_, index) => writeAndForget(index + 1));
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    // The engine may keep an object beyond one collection, for example in a frame of its stack.
    const left = (): number => {
      collectGarbage();
      return references.filter((reference) => reference.deref() !== undefined).length;
    };
    await expect.poll(left).toBe(0);
  });

  it('are looked over a few times each, however many new ones come at once', () => {
    const deref = vi.spyOn(WeakRef.prototype, 'deref');
    onTestFinished(() => deref.mockRestore());
    const family = { ...FAMILY };
    const samples = Array.from({ length: 5_000 }, (_, at) => ({ family, labels: { queue: `new-${at}` }, value: 1 }));
    expect(writer.write('queries', samples).values).toHaveLength(5_000);
    expect(deref.mock.calls.length).toBeLessThan(5 * 5_000);
  });

  it('share their columns while they are there', () => {
    const write = (...queues: string[]) =>
      writer.write(
        'custom_metrics',
        queues.map((queue) => ({ family: FAMILY, labels: { queue, kind: 'k' }, value: 1 })),
      );
    const first = write('a', 'b');
    expect(write('a', 'b').columns).toBe(first.columns);
    expect(write('b', 'a').columns).toEqual([...first.columns].reverse());
    const [column] = write('c', 'b').columns.slice(1);
    expect(column).toBe(first.columns[1]);
  });
});

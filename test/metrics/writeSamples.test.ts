import { setImmediate as settle } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Family, Labels } from '../../src/metrics/sample.ts';
import { labelBytes, writeSamples } from '../../src/metrics/writeSamples.ts';

const FAMILY: Family = {
  name: 'newrelic_custom_queue_depth',
  help: 'Jobs.',
  type: 'gauge',
  unit: undefined,
  group: 'custom_metrics',
  labelNames: ['queue'],
};

/** Writes so many samples, whose labels are gone afterwards, and gives a weak reference to one of them. */
function writeAndForget(count: number): WeakRef<Labels> {
  const all = Array.from({ length: count }, (_, index): Labels => ({ queue: `${count}-${index}` }));
  const written = writeSamples(
    'custom_metrics',
    all.map((labels) => ({ family: FAMILY, labels, value: 1 })),
  );
  expect(written.values).toHaveLength(count);
  return new WeakRef(all[0]!);
}

async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await settle();
  collect();
}

describe('samples that were written', () => {
  it('leave nothing behind when they are gone, however many there were of them', async () => {
    const references = Array.from({ length: 200 }, (_, index) => writeAndForget(index + 1));
    await collectGarbage();
    expect(references.filter((reference) => reference.deref() !== undefined)).toEqual([]);
  });

  it('share their columns while they are there', () => {
    const labels = [{ queue: 'a' }, { queue: 'b' }];
    const samples = labels.map((each) => ({ family: FAMILY, labels: each, value: 1 }));
    const first = writeSamples('custom_metrics', samples);
    expect(writeSamples('custom_metrics', samples).columns).toBe(first.columns);
  });

  it('have different labels where names differ only behind the cut', () => {
    const long = 'x'.repeat(2_000);
    const [a, b] = ['a', 'b'].map((end) => labelBytes({ host: `${long}${end}` }).toString());
    expect(a).not.toBe(b);
  });
});

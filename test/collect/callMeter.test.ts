import { describe, expect, it } from 'vitest';
import type { Overload } from '../../src/api/reader.ts';
import { CallMeter } from '../../src/collect/scheduler.ts';
import { VirtualClock } from './support/virtualClock.ts';

describe('the meter of calls', () => {
  it('counts calls with the time they took, and when something last went on', async () => {
    const clock = new VirtualClock();
    const start = clock.monotonic();
    const meter = new CallMeter(clock);
    const tally = { count: 0, ms: 0, lastStart: -Infinity };
    const released: (Overload | undefined)[] = [];
    const gate = meter.watch({ enter: () => Promise.resolve((overload) => void released.push(overload)) }, tally);
    const progress: number[] = [meter.lastProgress - start];
    for (const seconds of [1, 3]) {
      await clock.advance(500);
      const release = await gate.enter(new AbortController().signal);
      progress.push(meter.lastProgress - start);
      await clock.advance(seconds * 1_000);
      release({ waitMs: seconds });
      progress.push(meter.lastProgress - start);
    }
    await clock.advance(700);
    meter.workBegins();
    progress.push(meter.lastProgress - start);
    expect(progress).toEqual([0, 500, 1_500, 2_000, 5_000, 5_700]);
    expect(tally).toEqual({ count: 2, ms: 4_000, lastStart: start + 2_000 });
    expect(released).toEqual([{ waitMs: 1 }, { waitMs: 3 }]);
  });

  it('learns how long a call takes: from the first reading at once, from each later one by a tenth', () => {
    const meter = new CallMeter(new VirtualClock());
    expect(meter.averageCall).toBeUndefined();
    const averages = [
      [2, 200],
      [1, 200],
      [4, 40],
    ].map(([count = 1, ms = 0]) => {
      meter.learn({ count, ms, lastStart: 0 });
      return meter.averageCall;
    });
    expect(averages.map((average) => Number(average?.toFixed(6)))).toEqual([100, 110, 100]);
  });
});

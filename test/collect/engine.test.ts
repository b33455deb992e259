import { describe, expect, it } from 'vitest';
import { World } from './support/world.ts';

describe('smoke', () => {
  it('reads a small fleet', async () => {
    const world = new World();
    world.populate(3, 2);
    const first = await world.scrape();
    console.log(first.took, first.complete, first.blocks.length, world.reader.calls.length);
    console.log(world.lines);
    expect(first.complete).toBe(true);
    const again = await world.scrape();
    expect(world.reader.calls.length).toBe(2 + 9 + 6);
    expect(again.complete).toBe(true);
  });
  it('large', async () => {
    const world = new World();
    world.populate(1000, 5);
    const cpu = process.cpuUsage();
    for (let i = 0; i < 60; i++) {
      const a = await world.scrape();
      if (i % 4 === 0) {
        const g = world.group('host_metrics');
        console.log(i, a.took, a.complete, a.blocks.length, world.reader.calls.length, JSON.stringify(g.entities), g.effectiveIntervalSeconds);
      }
      await world.clock.advance(15_000 - a.took);
    }
    const used = process.cpuUsage(cpu);
    console.log('cpu', used.user / 1000, used.system / 1000, 'calls', world.reader.calls.length);
  }, 120000);
});

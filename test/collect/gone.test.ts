import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { accountConfig } from './support/config.ts';
import { EVERYTHING, World } from './support/world.ts';

/** Weak references to the served values of each application and host, so that this test does not hold them. */
async function served(world: World): Promise<Map<string, WeakRef<object>>> {
  const { blocks } = await world.collector.snapshot(EVERYTHING);
  return new Map(
    blocks.map(({ group, labels, samples }) => [`${group} ${Object.values(labels).join()}`, new WeakRef(samples)]),
  );
}

it('deleted applications and their hosts leave nothing in memory', async () => {
  const world = World.create(20, 2, [
    accountConfig({ limits: { requests_per_minute: 100_000, max_concurrent_requests: 50 } }),
  ]);
  await world.scrape();
  const before = await served(world);
  world.reader.applications = world.reader.applications.slice(0, 1);
  await world.nextScrape();
  const keys = [...(await served(world)).keys()];
  expect([before.size, keys.length]).toEqual([120, 6]);
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  // The engine may keep an object beyond one collection, for example in a frame of its stack.
  const alive = (): string[] => {
    collectGarbage();
    return [...before].filter(([, samples]) => samples.deref() !== undefined).map(([key]) => key);
  };
  await expect.poll(() => alive().filter((key) => !keys.includes(key))).toEqual([]);
});

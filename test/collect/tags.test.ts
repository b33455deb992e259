import { describe, expect, it } from 'vitest';
import { application } from './support/bodies.ts';
import { accountConfig, collectionConfig, config } from './support/config.ts';
import { NERDGRAPH, World } from './support/world.ts';

const FAMILY = 'newrelic_application_tags';
const TAGGED = {
  ...application(1),
  tags: [
    { key: 'Team', values: ['web', 'payments'] },
    { key: 'cost.center', values: [] },
    { key: 'rollout 🚀', values: ['fast'] },
  ],
};

function worldWith(tags: readonly string[]): World {
  const world = new World([accountConfig({ applications: { tags } })], collectionConfig(), NERDGRAPH);
  world.reader.applications = [TAGGED, { ...application(2), reporting: false, tags: [] }, application(3)];
  return world;
}

describe('tags of applications', () => {
  it('are labels of their own family: values sorted, keys in any case, empty where there are none', async () => {
    const world = worldWith(['team', 'cost.center', 'environment', 'rollout 🚀']);
    const response = await world.scrape();
    const labels = {
      app_id: '1',
      tag_team: 'payments,web',
      tag_cost_center: '',
      tag_environment: '',
      tag_rollout__: 'fast',
    };
    expect(world.value(response, FAMILY, labels)).toBe(1);
    // An application that does not report has the family too.
    expect(world.value(response, FAMILY, { app_id: '2', tag_team: '' })).toBe(1);
    // Unreadable tags are unknown, which differs from no tags.
    expect(world.value(response, FAMILY, { app_id: '3' })).toBeUndefined();
    expect(
      world.value(response, 'newrelic_application_info', { app_id: '1', tag_team: 'payments,web' }),
    ).toBeUndefined();
  });

  it('are not published unless the configuration names some', async () => {
    const world = worldWith([]);
    expect(world.value(await world.scrape(), FAMILY)).toBeUndefined();
  });

  it('follow a reload without calls', async () => {
    const world = worldWith(['team']);
    await world.scrape();
    const calls = world.reader.calls.length;
    world.collector.reconfigure(config(accountConfig({ applications: { tags: ['TEAM', 'environment'] } })));
    const response = await world.scrape();
    expect(world.value(response, FAMILY, { app_id: '1', tag_TEAM: 'payments,web', tag_environment: '' })).toBe(1);
    expect(world.reader.calls).toHaveLength(calls);
  });
});

import { describe, expect, it } from 'vitest';
import type { Simulator } from '../../../src/simulator/simulator.ts';
import { MINUTE, NOW, simulatorOfTest } from '../client.ts';
import { nrql } from './client.ts';

/** The open events at a moment, as policy/condition/priority/entity. */
async function open(at: number, from: Simulator): Promise<readonly string[]> {
  const { results } = await nrql(
    from,
    `SELECT latest(event) AS event, latest(policyName) AS policy, latest(conditionName) AS condition,
       latest(priority) AS priority, latest(entity.name) AS entity
     FROM NrAiIncident FACET incidentId SINCE ${at - 9 * 1440 * MINUTE} UNTIL ${at} LIMIT MAX`,
  );
  return results
    .filter(({ event }) => event === 'open')
    .map((row) => ['policy', 'condition', 'priority', 'entity'].map((key) => String(row[key])).join('/'));
}

describe('the events of conditions', () => {
  it('open for the watched application when it falls silent', async () => {
    let now = NOW;
    const few = await simulatorOfTest({ applications: 16, now: () => now });
    const ofSilence = async () => (await open(now, few)).filter((event) => event.startsWith('All applications'));
    few.change(1_000_001, { reporting: false });
    now += 4 * MINUTE;
    expect(await ofSilence()).toEqual([]);
    now += 2 * MINUTE;
    expect((await ofSilence()).toSorted()).toEqual([
      'All applications/Requests stop/critical/Storefront',
      'All applications/Signal lost/critical/Storefront',
    ]);
  });
});

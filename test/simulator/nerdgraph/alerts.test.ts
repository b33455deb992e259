import { describe, expect, it } from 'vitest';
import type { Simulator } from '../../../src/simulator/simulator.ts';
import { ARCHETYPES } from '../../../src/simulator/world/archetypes.ts';
import { MINUTE, NOW, simulatorOfTest } from '../client.ts';
import { nrql, TO } from './client.ts';

const RESPONSE =
  "SELECT average(newrelic.timeslice.value) FROM Metric WHERE appId = 1000001 AND metricTimesliceName = 'HttpDispatcher'";

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

describe('the events of conditions with a threshold', () => {
  it('are open after three minutes above it, and closed after three below', async () => {
    const few = await simulatorOfTest({ applications: 16 });
    const threshold = 1.6 * ARCHETYPES.find(({ name }) => name === 'Storefront')!.web!.seconds;
    const minutes = 360;
    const begin = TO - 3 * minutes * MINUTE;
    const values: number[] = [];
    for (let part = 0; part < 3; part += 1) {
      const since = begin + part * minutes * MINUTE;
      const time = `SINCE ${since} UNTIL ${since + minutes * MINUTE} TIMESERIES 1 minute`;
      const { results } = await nrql(few, `${RESPONSE} ${time}`);
      values.push(...results.map((row) => row['average.newrelic.timeslice.value'] as number));
    }
    const { results } = await nrql(
      few,
      `SELECT latest(openTime) AS opened, latest(closeTime) AS closed FROM NrAiIncident
       WHERE conditionName = 'Slow or failing requests' AND entity.name = 'Storefront'
       FACET incidentId SINCE ${begin} UNTIL ${TO} LIMIT MAX`,
    );
    const seen = { open: 0, closed: 0 };
    for (let end = 3; end <= values.length; end += 1) {
      const last = values.slice(end - 3, end).map((value) => value > threshold);
      // Between the two, what it was before decides.
      if (new Set(last).size > 1) continue;
      const at = begin + end * MINUTE + 50_000;
      const isOpen = results.some(({ opened, closed }) => at >= Number(opened) && at < Number(closed ?? Infinity));
      expect([end, isOpen]).toEqual([end, last[0]]);
      seen[isOpen ? 'open' : 'closed'] += 1;
    }
    expect(Math.min(seen.open, seen.closed)).toBeGreaterThan(3);
  });

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

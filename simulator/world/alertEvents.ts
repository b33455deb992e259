import { fraction, incidentsNear } from './traffic.ts';
import { silentFrom, type SimulatedApplication } from './worldEntities.ts';
import type { World } from './world.ts';

const DAY_MINUTES = 1440;
/** The longest duration of an event. */
export const LONGEST_EVENT_MINUTES = 3 * DAY_MINUTES;

/** Minutes until a condition notices an incident, or its end. */
const NOTICED_AFTER = 3;
/** Minutes of silence until a condition opens an event. */
const SILENT_MINUTES = 5;

/** The policy of conditions that belong to no team. */
const ALL_APPLICATIONS = { policyId: 200_001, policyName: 'All applications' };

/** Yields at least the events of an application that are open between these minutes since 1970. */
export function* alertEvents(world: World, application: SimulatedApplication, from: number, until: number) {
  const { alertPolicyId: policyId, archetype, amendment, index } = application;
  if (policyId === undefined) return;
  const { seed } = world.options;
  const policyName = `Team ${archetype.tags['team']?.[0] ?? 'none'}`;
  /** Creates an event of the team's policy. Several policies may share a name. */
  const event = (position: number, conditionName: string, fromMinute: number, toMinute: number) => ({
    ...{ conditionId: policyId * 10 + position, conditionName, policyId, policyName, priority: 'critical' },
    /** False: the event concerns all data of the account. */
    hasEntity: true,
    /** True: a muting rule silenced the event when it opened. */
    muted: false,
    fromMinute,
    toMinute,
  });
  const incidents = [...[amendment.incident ?? []].flat(), ...incidentsNear(seed, application, from, until)];
  for (const { fromMinute, toMinute } of (archetype.web?.perMinute ?? 0) > 0 ? incidents : [])
    yield event(1, 'Slow or failing requests', fromMinute + NOTICED_AFTER, toMinute + NOTICED_AFTER);
  const silent = silentFrom(application);
  if (Number.isFinite(silent) && world.applications()[0]?.id === application.id) {
    for (const [position, conditionName] of ['Requests stop', 'Signal lost'].entries()) {
      const lost = event(position, conditionName, silent + SILENT_MINUTES, silent + LONGEST_EVENT_MINUTES);
      yield { ...lost, ...ALL_APPLICATIONS, conditionId: 400_002 + position };
    }
  }
  if (index % 4 !== 0) return;
  // Baseline conditions warn for two and a half days of every three, shifted for each application.
  for (let start = from - (from % LONGEST_EVENT_MINUTES); start < until; start += LONGEST_EVENT_MINUTES) {
    const chance = fraction(seed, index, start / LONGEST_EVENT_MINUTES, 8300);
    const begin = start + (index % 3) * DAY_MINUTES + Math.floor(chance * 0.3 * DAY_MINUTES);
    const end = begin + 2.5 * DAY_MINUTES;
    yield { ...event(2, 'Memory grows', begin, end), priority: 'warning', muted: true };
    yield { ...event(3, 'Few orders', begin + 30, end), priority: 'warning', hasEntity: false };
  }
}

import type { AccountConfig, CollectionConfig } from '../config/config.ts';
import type { Plan } from '../collect/due.ts';
import type { Group } from '../reads/reads.ts';
import { MINUTE_MS } from '../formulas/units.ts';

/** Minutes of data before the window's end that a refresh of lists and rolling values reads (docs/nerdgraph.md). */
const READ_MINUTES: Readonly<Partial<Record<Group, number>>> = {
  applications: 4,
  key_transactions: 10,
  // The list reads an hour, the rolling values 4 minutes.
  hosts: 64,
  custom_metrics: 1_440,
};

const WINDOW_GROUPS: ReadonlySet<Group> = new Set<Group>(['application_metrics', 'host_metrics']);

/** Groups that read the time since their last refresh, and again these minutes before it, for data that arrived late. */
const LATE_MINUTES: Readonly<Record<string, number>> = { counters: 10 };

/** The minutes of data that a group, or one query or type of entities of it, reads per minute. */
export interface ScannedMinutes {
  readonly group: Group;
  readonly name?: string;
  readonly minutes: number;
}

/**
 * The minutes of data that an account's queries read per minute, by group, query and type of entities. Price plans by compute charge for them, since a data
 * point counts each time that a query reads it. Over REST only golden metrics and the account's own queries read data this way.
 *
 * @param groups of the plan, with their effective intervals in milliseconds
 */
export function scannedMinutes(
  { api, entities, queries }: Pick<AccountConfig, 'api' | 'entities' | 'queries'>,
  { window }: Pick<CollectionConfig, 'window'>,
  { groups, slowdown }: Pick<Plan, 'groups' | 'slowdown'>,
): readonly ScannedMinutes[] {
  const minutesOf = (each: { readonly window?: number | undefined; readonly interval: number }): number =>
    (each.window ?? window) / Math.max(MINUTE_MS, each.interval * slowdown);
  return groups.flatMap(({ group, effectiveInterval }): readonly ScannedMinutes[] => {
    if (group === 'queries') return queries.map((each) => ({ group, name: each.name, minutes: minutesOf(each) }));
    if (group === 'golden_metrics') {
      return entities.map((each) => ({ group, name: each.type, minutes: minutesOf(each) }));
    }
    if (api === 'rest') return [];
    const interval = Math.max(MINUTE_MS, effectiveInterval) / MINUTE_MS;
    const read = WINDOW_GROUPS.has(group) ? window / MINUTE_MS : READ_MINUTES[group];
    const late = LATE_MINUTES[group];
    if (late !== undefined) return [{ group, minutes: (interval + late) / interval }];
    return read === undefined ? [] : [{ group, minutes: read / interval }];
  });
}

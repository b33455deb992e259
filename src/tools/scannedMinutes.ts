import type { Plan } from '../collect/schedule/due.ts';
import type { AccountConfig, CollectionConfig } from '../config/config.ts';
import { MINUTE_MS } from '../formulas/units.ts';
import { describeGroup, type Group } from '../reads/reads.ts';
import { percent, withCommas } from '../text/wording.ts';
import { groupBy, sumBy } from './grouping.ts';

/** Minutes of data that one refresh of a group reads, by window and interval in minutes (docs/nerdgraph.md). */
const READ_MINUTES: Readonly<Partial<Record<Group, (window: number, interval: number) => number>>> = {
  applications: () => 4,
  key_transactions: () => 10,
  application_metrics: (window) => window,
  // An hour for the list, 4 minutes for the rolling values.
  hosts: () => 64,
  host_metrics: (window) => window,
  custom_metrics: () => 1_440,
  // The time since the last refresh, and 10 minutes before it for late data.
  counters: (_, interval) => interval + 10,
};

/** Minutes of data that a group reads per minute. With `name`, one query or one entity type of the group reads them. */
interface ScannedMinutes {
  readonly group: Group;
  readonly name?: string;
  readonly minutes: number;
}

/**
 * Calculates the minutes of data per minute that an account reads, by group, query and type of entities. Over REST,
 * only golden metrics and queries read data this way. Intervals are in milliseconds.
 */
export function calculateScannedMinutes(
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
    const minutes = READ_MINUTES[group]?.(window / MINUTE_MS, interval);
    return minutes === undefined ? [] : [{ group, minutes: minutes / interval }];
  });
}

export function describeScanned(scanned: readonly ScannedMinutes[]): readonly string[] {
  const [mostExpensive] = scanned.toSorted((a, b) => b.minutes - a.minutes);
  if (mostExpensive === undefined) return [];
  const sumMinutes = (rows: readonly ScannedMinutes[]): number => sumBy(rows, ({ minutes }) => minutes);
  const byGroup = groupBy(scanned, ({ group }) => describeGroup(group));
  const groups = Array.from(byGroup, ([group, rows]) => `${group} ${formatAmount(sumMinutes(rows))}`).join(', ');
  const subject = [describeGroup(mostExpensive.group), mostExpensive.name ?? []].flat().join(' ');
  return [
    `Data read: ${formatAmount(sumMinutes(scanned))} minutes of data per minute (${groups}). Price plans by compute charge for them.`,
    `Most expensive: ${subject}, ${formatAmount(mostExpensive.minutes)} (${percent(mostExpensive.minutes / sumMinutes(scanned))}).`,
  ];
}

function formatAmount(minutes: number): string {
  return minutes < 1000 ? minutes.toFixed(1) : withCommas(Math.round(minutes));
}

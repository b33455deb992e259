import type { Plan } from '../collect/schedule/due.ts';
import type { AccountConfig, CollectionConfig } from '../config/config.ts';
import { MINUTE_MS } from '../formulas/units.ts';
import { describeGroup, type Group } from '../reads/reads.ts';
import { percent, withCommas } from '../text/wording.ts';
import { groupBy, sumBy } from './grouping.ts';

/** The minutes of data that a refresh of a group reads, by the window and the interval in minutes (docs/nerdgraph.md). */
const READ_MINUTES: Readonly<Partial<Record<Group, (window: number, interval: number) => number>>> = {
  applications: () => 4,
  key_transactions: () => 10,
  application_metrics: (window) => window,
  // The list reads an hour, the rolling values 4 minutes.
  hosts: () => 64,
  host_metrics: (window) => window,
  custom_metrics: () => 1_440,
  // The time since the last refresh, and again the minutes before it, for data that arrived late.
  counters: (_, interval) => interval + 10,
};

/** The minutes of data that a group, or one query or type of entities of it, reads per minute. */
interface ScannedMinutes {
  readonly group: Group;
  readonly name?: string;
  readonly minutes: number;
}

/**
 * The minutes of data that an account's queries read per minute, by group, query and type of entities. Price plans by compute charge
 * for each. Over REST only golden metrics and queries read data this way. Effective intervals of the plan are milliseconds.
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
    const read = READ_MINUTES[group]?.(window / MINUTE_MS, interval);
    return read === undefined ? [] : [{ group, minutes: read / interval }];
  });
}

/** What the minutes cost, as sentences: the sum by group, and the most expensive one. None where nothing is read this way. */
export function describeScanned(scanned: readonly ScannedMinutes[]): readonly string[] {
  const [most] = scanned.toSorted((a, b) => b.minutes - a.minutes);
  if (most === undefined) return [];
  const groups = Array.from(
    groupBy(scanned, ({ group }) => describeGroup(group)),
    ([group, rows]) => `${group} ${formatAmount(sumMinutes(rows))}`,
  ).join(', ');
  const subject = [describeGroup(most.group), most.name ?? []].flat().join(' ');
  return [
    `Data read: ${formatAmount(sumMinutes(scanned))} minutes of data per minute (${groups}), which price plans by compute bill.`,
    `Most expensive: ${subject}, ${formatAmount(most.minutes)} (${percent(most.minutes / sumMinutes(scanned))}).`,
  ];
}

function sumMinutes(scanned: readonly ScannedMinutes[]): number {
  return sumBy(scanned, ({ minutes }) => minutes);
}

/** `8,640` or `12.8`. */
function formatAmount(minutes: number): string {
  return minutes < 1000 ? minutes.toFixed(1) : withCommas(Math.round(minutes));
}

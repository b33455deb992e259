import type { FamilyScope } from '../metrics/family.ts';
import { COUNTED } from '../metrics/counterFamilies.ts';
import { firstOf, GROUPS } from '../reads/reads.ts';
import { WINDOW_FAMILIES } from '../metrics/windowFamilies.ts';
import { readStatement } from '../nrql/statement.ts';
import type { AccountCollector } from '../collect/accountCollector.ts';
import { AccountSnapshot } from '../collect/accountSnapshot.ts';
import type { EntityRecord } from '../collect/entityRecords.ts';
import type { ApplicationData } from '../collect/records.ts';
import type { AccountContext } from '../collect/accountContext.ts';

const LISTS = new Set(GROUPS.filter((group) => firstOf(group).gives === 'list'));

/** Apdex has three zones. */
const ZONES = 3;

/** Components beside the database: Memcache and External. */
const OTHER_COMPONENTS = 2;

/**
 * The number of series of an account once all of it has been read, and the mean for one application and for one host: exact for
 * lists, the maximum for metric data, because only the data show which values an application or an entity has. Queries are not
 * counted.
 */
export function expectedSeries(account: AccountCollector) {
  const now = account.context.clock.monotonic();
  const lists = AccountSnapshot.atOnce(account, { groups: LISTS }, { asOf: now, now }).blocks;
  const sums = { total: 0, applications: 0, hosts: 0 };
  for (const { labels, samples } of lists) {
    const series = samples.values.length;
    sums.total += series;
    if (labels['host'] !== undefined) sums.hosts += series;
    else if (labels['key_transaction_id'] === undefined && labels['entity_guid'] === undefined) {
      sums.applications += series;
    }
  }
  // Entities with equal definitions share their columns, which are parsed once.
  const known = new Map<EntityRecord['columns'], number>();
  for (const { entities } of account.inventory.entities.types()) {
    for (const { subject, columns } of entities.values()) {
      if (subject === undefined) continue;
      const series = known.get(columns) ?? seriesOfColumns(columns);
      known.set(columns, series);
      sums.total += series;
    }
  }
  let hosts = 0;
  for (const { data } of account.inventory.applications.values()) {
    if (data === undefined) continue;
    const { ownSeries, hostSeries } = ofApplication(account.context, data);
    sums.total += ownSeries + hostSeries;
    sums.applications += ownSeries;
    sums.hosts += hostSeries;
    hosts += data.hosts.size;
  }
  const { size } = account.inventory.applications;
  return {
    total: sums.total,
    perApplication: size === 0 ? 0 : sums.applications / size,
    perHost: hosts === 0 ? 0 : sums.hosts / hosts,
  };
}

/** The number of series of the golden metrics of an entity. */
function seriesOfColumns(columns: EntityRecord['columns']): number {
  return columns.reduce(
    (sum, { select }) => sum + Math.max(1, readStatement(`SELECT ${select}`).columns[0]?.percentiles ?? 0),
    0,
  );
}

/** The number of series of the metric data of an application and all its hosts. */
function ofApplication({ selections }: AccountContext, data: ApplicationData) {
  const components = Math.max(1, data.datastores?.length ?? 0) + OTHER_COMPONENTS;
  const customSeries = (scope: FamilyScope): number =>
    selections.of(data, scope).custom.matches.reduce((sum, { series }) => sum + series, 0);
  const counters = data.tasks.counters === undefined ? 0 : COUNTED.length;
  return {
    ownSeries: builtIn('application', components) + counters + customSeries('application'),
    hostSeries: data.hosts.size * builtIn('host', components) + customSeries('host'),
  };
}

/** The number of series of the window metrics of one application or host. */
function builtIn(scope: FamilyScope, components: number): number {
  return WINDOW_FAMILIES[scope].reduce((sum, { labelNames }) => {
    if (labelNames.includes('component')) return sum + components;
    return sum + (labelNames.includes('zone') ? ZONES : 1);
  }, 0);
}

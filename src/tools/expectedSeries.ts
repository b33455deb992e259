import { sumOf } from './lists.ts';
import type { FamilyScope } from '../metrics/family.ts';
import { COUNTED } from '../metrics/counterFamilies.ts';
import { FIRST_OF, GROUPS } from '../reads/reads.ts';
import { WINDOW_FAMILIES } from '../metrics/windowFamilies.ts';
import { readStatement } from '../nrql/statement.ts';
import type { AccountCollector } from '../collect/accountCollector.ts';
import { AccountSnapshot } from '../collect/accountSnapshot.ts';
import type { ApplicationData } from '../collect/records.ts';
import type { AccountContext } from '../collect/selection.ts';

const LISTS = new Set(GROUPS.filter((group) => FIRST_OF[group].gives === 'list'));

/** Apdex has three zones. */
const ZONES = 3;

/** Components beside the database: Memcache and External. */
const OTHER_COMPONENTS = 2;

/**
 * The number of series of an account once all of it has been read: exact for lists, the maximum for metric data, because only the
 * data show which values an application or an entity has. Queries are not counted.
 */
export function expectedSeries(account: AccountCollector): number {
  const { context, inventory } = account;
  const now = context.clock.monotonic();
  const lists = AccountSnapshot.atOnce(account, { groups: LISTS }, { asOf: now, now }).blocks;
  const ofLists = sumOf(lists, ({ samples }) => samples.values.length);
  const ofEntities = sumOf([...inventory.entities.types()], ({ entities }) =>
    sumOf([...entities.values()], ({ subject, columns }) =>
      sumOf(subject === undefined ? [] : columns, ({ select }) =>
        Math.max(1, readStatement(`SELECT ${select}`).columns[0]?.percentiles ?? 0),
      ),
    ),
  );
  const ofApplications = sumOf([...inventory.applications.values()], ({ data }) =>
    data === undefined ? 0 : seriesOfData(context, data),
  );
  return ofLists + ofEntities + ofApplications;
}

/** The number of series of the metric data of an application and all its hosts. */
function seriesOfData({ selections }: AccountContext, data: ApplicationData): number {
  const components = Math.max(1, data.datastores?.length ?? 0) + OTHER_COMPONENTS;
  const seriesOf = (scope: FamilyScope, count: number): number =>
    count * builtIn(scope, components) + sumOf(selections.of(data, scope).custom.matches, ({ series }) => series);
  const counters = data.tasks.counters === undefined ? 0 : COUNTED.length;
  return seriesOf('application', 1) + counters + seriesOf('host', data.hosts.size);
}

/** The number of series of the window metrics of one application or host. */
function builtIn(scope: FamilyScope, components: number): number {
  return sumOf(WINDOW_FAMILIES[scope], ({ labelNames }) => {
    if (labelNames.includes('component')) return components;
    return labelNames.includes('zone') ? ZONES : 1;
  });
}

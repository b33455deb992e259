import { WINDOW_TABLE } from '../metrics/windowFamilies.ts';
import type { Scope } from '../metrics/family.ts';
import { GROUPS } from '../metrics/sample.ts';
import type { AccountContext } from './selection.ts';
import { wanted, type ApplicationData } from './records.ts';
import type { AnswerTime } from './view.ts';
import type { AccountCollector } from './accountCollector.ts';
import { AccountAnswer } from './answer.ts';

const LIST_GROUPS = new Set(GROUPS.filter((group) => !/_metrics$/.test(group)));

/** Apdex has three zones. */
const ZONES = 3;

/** Components beside the database: Memcache and External. */
const OTHER_COMPONENTS = 2;

/**
 * The series of an account once all of it has been read: those of the lists as they are, those of the metric data at
 * most, because what an application does not report shows in the data only.
 */
export function expectedSeries(account: AccountCollector, time: AnswerTime): number {
  const lists = AccountAnswer.atOnce(account, { groups: LIST_GROUPS }, time).blocks;
  let series = lists.reduce((sum, { samples }) => sum + samples.values.length, 0);
  for (const { data } of account.inventory.applications.values()) {
    if (data !== undefined) series += ofApplication(account.context, data);
  }
  return series;
}

function ofApplication({ customMetrics }: Readonly<AccountContext>, data: ApplicationData): number {
  const components = Math.max(1, data.datastores?.length ?? 0) + OTHER_COMPONENTS;
  const customSeries = (scope: Scope): number =>
    wanted(customMetrics, data, scope).custom.matches.reduce((sum, { series }) => sum + series, 0);
  return (
    builtIn('application', components) +
    customSeries('application') +
    data.hosts.size * builtIn('host', components) +
    customSeries('host')
  );
}

/** Series of the window metrics of one application or host. */
function builtIn(scope: Scope, components: number): number {
  return WINDOW_TABLE.rows[scope].reduce((sum, { labelNames }) => {
    if (labelNames.includes('component')) return sum + components;
    return sum + (labelNames.includes('zone') ? ZONES : 1);
  }, 0);
}

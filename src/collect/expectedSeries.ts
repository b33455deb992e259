import { WINDOW } from '../metrics/window.ts';
import type { Scope } from '../metrics/family.ts';
import { GROUPS } from '../metrics/groups.ts';
import type { AccountCollector } from './account.ts';
import { answerOf, type AnswerTime } from './answer.ts';
import { customOf } from './reading.ts';
import type { ApplicationRecord } from './records.ts';

const LIST_GROUPS = new Set(GROUPS.filter((group) => !/_metrics$/.test(group)));

/** Apdex has three zones (contract 5.4). */
const ZONES = 3;

/** Components beside the database: Memcache and External (contract 5.4). */
const OTHER_COMPONENTS = 2;

/**
 * The series of an account once all of it has been read: those of the lists as they are, those of the metric data at
 * most, because what an application does not report shows in the data only.
 */
export function expectedSeries(account: AccountCollector, time: AnswerTime): number {
  const lists = answerOf(account, { groups: LIST_GROUPS }, time).blocks;
  const ofLists = lists.reduce((sum, { samples }) => sum + samples.length, 0);
  const records = [...account.inventory.applications.values()].filter(({ units }) => units !== undefined);
  return records.reduce((sum, record) => sum + ofApplication(account, record), ofLists);
}

function ofApplication({ context }: AccountCollector, record: ApplicationRecord): number {
  const components = Math.max(1, record.units?.names.held?.value.length ?? 0) + OTHER_COMPONENTS;
  const custom = (scope: Scope): number =>
    customOf(context.customMetrics, record, scope).matches.reduce((sum, { series }) => sum + series, 0);
  return (
    builtIn('application', components) +
    custom('application') +
    record.hosts.size * builtIn('host', components) +
    custom('host')
  );
}

/** Series of contract 5.4 of one application or host. */
function builtIn(scope: Scope, components: number): number {
  return Object.values(WINDOW[scope]).reduce((sum, { labelNames }) => {
    if (labelNames.includes('component')) return sum + components;
    return sum + (labelNames.includes('zone') ? ZONES : 1);
  }, 0);
}

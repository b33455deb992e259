import type { Logger } from 'pino';
import type { UpstreamReader } from '../../api/upstreamReader.ts';
import type { AccountConfig, CollectionConfig } from '../../config/config.ts';
import type { Clock } from '../../eventLoop/clock.ts';
import type { CustomMetric } from '../../metrics/customMetrics.ts';
import type { Query } from '../../metrics/queryFamilies.ts';
import { GROUPS, type Group } from '../../reads/reads.ts';
import type { MetricSelections } from './selection.ts';

/** What an account, or an entry with `account_ids`, is collected with. A reload replaces the whole context. */
export interface AccountContext {
  readonly account: AccountConfig;
  readonly collection: CollectionConfig;
  readonly reader: UpstreamReader;
  /** Returns a mark that changes exactly when the key changes. The exporter compares marks and never shows them. */
  readonly keyMark: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The groups that the configuration enables and the interface can read. */
  readonly enabled: ReadonlySet<Group>;
  readonly customMetrics: readonly CustomMetric[];
  readonly selections: MetricSelections;
  readonly queries: readonly Query[];
  /** True: plan and states count all tasks, not only tasks in demand. Commands that plan need this. */
  readonly ignoreDemand: boolean;
}

export function enabledGroups(account: AccountConfig, reader: UpstreamReader): ReadonlySet<Group> {
  return new Set(GROUPS.filter((group) => isEnabled(account, reader, group)));
}

function isEnabled(account: AccountConfig, reader: UpstreamReader, group: Group): boolean {
  if (group === 'entities' || group === 'golden_metrics') {
    return account.entities.length > 0 && reader.entities !== undefined;
  }
  if (group === 'queries') return account.queries.length > 0 && reader.queries !== undefined;
  if (!account.applications.read) return false;
  switch (group) {
    case 'key_transactions':
      return account.key_transactions !== false;
    case 'counters':
      return account.counters;
    case 'metric_names':
      return reader.datastores !== undefined;
    case 'hosts':
    case 'host_metrics':
      return account.hosts || account.applications.settings.some(({ hosts }) => hosts === true);
    case 'instances':
      return account.instances && reader.instances !== undefined;
    case 'custom_metrics':
      return account.custom_metrics.length > 0;
    default:
      return true;
  }
}

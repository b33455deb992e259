import type { UpstreamReader } from '../../api/reader.ts';
import type { AccountConfig, CollectionConfig } from '../../config/config.ts';
import type { CustomMetric } from '../../metrics/customFamilies.ts';
import type { Group } from '../../metrics/groups.ts';

/** What everything that works for one account reads; a reload replaces its fields. */
export interface AccountContext {
  account: AccountConfig;
  collection: CollectionConfig;
  reader: UpstreamReader;
  customMetrics: readonly CustomMetric[];
}

/** The configured interval of a group in milliseconds; the name lists of custom metrics are kept as long as the others. */
export function intervalOf(collection: CollectionConfig, group: Group): number {
  return collection.intervals[group === 'custom_metrics' ? 'metric_names' : group];
}

/** True when the account reads this group at all. */
export function isEnabled({ account, reader }: Pick<AccountContext, 'account' | 'reader'>, group: Group): boolean {
  switch (group) {
    case 'key_transactions':
      return account.key_transactions !== false;
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

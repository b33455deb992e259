import type { UpstreamReader } from '../api/oldReader.ts';
import type { AccountConfig, CollectionConfig } from '../config/config.ts';
import type { Group } from '../metrics/groups.ts';
import type { CustomMetric } from '../metrics/customFamilies.ts';
import type { BatchSize } from './metricData.ts';

/** What the work of one account needs; replaced whole when the configuration is reloaded. */
export interface AccountContext {
  readonly account: AccountConfig;
  readonly collection: CollectionConfig;
  readonly reader: UpstreamReader;
  readonly customMetrics: readonly CustomMetric[];
  readonly batchSize: BatchSize;
}

/** The configured interval of a group in milliseconds; the name lists of custom metrics are kept as long as the others. */
export function intervalOf(collection: CollectionConfig, group: Group): number {
  return collection.intervals[group === 'custom_metrics' ? 'metric_names' : group];
}

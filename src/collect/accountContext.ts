import type { Logger } from 'pino';
import type { UpstreamReader } from '../api/upstreamReader.ts';
import type { AccountConfig, CollectionConfig } from '../config/config.ts';
import type { Clock } from '../eventLoop/clock.ts';
import { customMetrics, type CustomMetric } from '../metrics/customMetrics.ts';
import { prepareQueries, type Query } from '../metrics/queryFamilies.ts';
import type { SampleWriter } from '../metrics/writeSamples.ts';
import type { Group } from '../reads/reads.ts';
import { enabledGroups, MetricSelections } from './selection.ts';

/** The configuration, reader and tools of an account, or of an entry with `account_ids`; a reload replaces them together. */
export interface AccountContext {
  readonly account: AccountConfig;
  readonly collection: CollectionConfig;
  readonly reader: UpstreamReader;
  /** Changes exactly when the key changes; it is only compared and never shown. */
  readonly keyMark: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The groups that configuration and interface enable. */
  readonly enabled: ReadonlySet<Group>;
  readonly customMetrics: readonly CustomMetric[];
  readonly selections: MetricSelections;
  readonly queries: readonly Query[];
  readonly writer: SampleWriter;
  /** True: plan and states count all tasks, requested or not. Commands that plan need this. */
  readonly ignoreDemand: boolean;
}

export function prepared(
  account: AccountConfig,
  reader: UpstreamReader,
  before: AccountContext | undefined,
): Pick<AccountContext, 'enabled' | 'customMetrics' | 'selections' | 'queries'> {
  // Custom metrics that are defined as before stay the same objects, so that the last read data are not calculated again.
  const hasSame = JSON.stringify(before?.account.custom_metrics) === JSON.stringify(account.custom_metrics);
  const metrics = before !== undefined && hasSame ? before.customMetrics : customMetrics(account.custom_metrics);
  return {
    enabled: enabledGroups(account, reader),
    customMetrics: metrics,
    selections: new MetricSelections(metrics),
    queries: prepareQueries(account.queries),
  };
}

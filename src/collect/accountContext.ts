import type { UpstreamReader } from '../api/upstreamReader.ts';
import type { AccountConfig, CollectionConfig } from '../config/config.ts';
import type { CustomMetric } from '../metrics/customMetrics.ts';
import type { Query } from '../metrics/queryFamilies.ts';
import type { SampleWriter } from '../metrics/writeSamples.ts';
import type { AccountList } from './accountList.ts';
import type { Clock } from './clock.ts';
import type { MetricSelections } from './metricSelections.ts';

/** The configuration, reader and tools that all parts of an account share; a reload replaces them together. */
export interface AccountContext {
  readonly account: AccountConfig;
  readonly collection: CollectionConfig;
  readonly reader: UpstreamReader;
  /** Changes exactly when the key changes; it is only compared and never shown. */
  readonly keyMark: () => string;
  /** The list that the account was made from; undefined for an account that stands in the file. */
  readonly list: AccountList | undefined;
  readonly customMetrics: readonly CustomMetric[];
  readonly selections: MetricSelections;
  readonly queries: readonly Query[];
  readonly writer: SampleWriter;
  readonly clock: Clock;
  /** True: plan and states count all tasks, requested or not. Commands that plan need this. */
  readonly ignoreDemand: boolean;
}

import type { Logger } from 'pino';
import type { UpstreamReader } from '../api/upstreamReader.ts';
import type { AccountConfig, CollectionConfig } from '../config/config.ts';
import type { CustomMetric } from '../metrics/customMetrics.ts';
import type { Query } from '../metrics/queryFamilies.ts';
import type { SampleWriter } from '../metrics/writeSamples.ts';
import type { Group } from '../reads/reads.ts';
import type { AccountList } from './accountList.ts';
import type { Clock } from './clock.ts';
import type { MetricSelections } from './metricSelections.ts';

/** The configuration and reader of an account, or of an entry with `account_ids`; a reload replaces them together. */
export interface CallerContext {
  readonly account: AccountConfig;
  readonly collection: CollectionConfig;
  readonly reader: UpstreamReader;
  /** Changes exactly when the key changes; it is only compared and never shown. */
  readonly keyMark: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What all parts of an account share. */
export interface AccountContext extends CallerContext {
  /** The list that the account was made from; undefined for an account that stands in the file. */
  readonly list: AccountList | undefined;
  /** The groups that configuration and interface enable. */
  readonly enabled: ReadonlySet<Group>;
  readonly customMetrics: readonly CustomMetric[];
  readonly selections: MetricSelections;
  readonly queries: readonly Query[];
  readonly writer: SampleWriter;
  /** True: plan and states count all tasks, requested or not. Commands that plan need this. */
  readonly ignoreDemand: boolean;
}

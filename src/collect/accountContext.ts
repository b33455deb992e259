import type { CustomMetric } from '../metrics/customMetrics.ts';
import type { Query } from '../metrics/queryFamilies.ts';
import type { SampleWriter } from '../metrics/writeSamples.ts';
import type { Group } from '../reads/reads.ts';
import type { AccountList, CallerContext } from './accountList.ts';
import type { MetricSelections } from './metricSelections.ts';

/** The configuration, reader and tools that all parts of an account share. */
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

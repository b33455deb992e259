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
  const { read, settings } = account.applications;
  const hosts = read && (account.hosts || settings.some((each) => each.hosts === true));
  const entities = account.entities.length > 0 && reader.entities !== undefined;
  const isEnabled: Readonly<Record<Group, boolean>> = {
    applications: read,
    key_transactions: read && account.key_transactions !== false,
    metric_names: read && reader.datastores !== undefined,
    application_metrics: read,
    counters: read && account.counters,
    hosts,
    host_metrics: hosts,
    instances: read && account.instances && reader.instances !== undefined,
    custom_metrics: read && account.custom_metrics.length > 0,
    entities,
    golden_metrics: entities,
    queries: account.queries.length > 0 && reader.queries !== undefined,
  };
  return new Set(GROUPS.filter((group) => isEnabled[group]));
}

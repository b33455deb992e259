/** What upstream answered for one metric over one window: the length of its timeslice and the values by value name. */
export interface MetricWindow {
  /** Length of the answered timeslice in seconds, whole minutes (contract 5, `W`). */
  readonly seconds: number;
  /** In the upstream's units; only finite numbers. */
  readonly values: Readonly<Record<string, number>>;
}

/** The answered metrics of one application or host over one window, by metric name. */
export type WindowValues = ReadonlyMap<string, MetricWindow>;

/** The database kind that counts for an application (specification, derived calculation 5; contract 5.4). */
export type DatabaseKind = 'datastore' | 'database' | 'active_record';

/**
 * The groups of data that are refreshed together: those of `collection.intervals`, and `custom_metrics`.
 * A group is what `collect[]` names and what the exporter's own metrics report on.
 */
export const GROUPS = [
  'applications',
  'key_transactions',
  'metric_names',
  'application_metrics',
  'hosts',
  'host_metrics',
  'instances',
  'custom_metrics',
] as const;

export type Group = (typeof GROUPS)[number];

/** The groups that have an interval of their own; custom metrics travel with the metric data of their scope. */
export type TimedGroup = Exclude<Group, 'custom_metrics'>;

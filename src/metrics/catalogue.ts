import { LISTED_FAMILIES } from './listedFamilies.ts';
import { EXPORTER_FAMILIES, PROBE_FAMILIES } from './catalogueExporter.ts';
import { COUNTER_FAMILIES } from './counterFamilies.ts';
import {
  type CatalogueFamily,
  MONITORED_LABEL_NAMES,
  OF_APPLICATION,
  OF_HOST,
  PROMETHEUS_LABEL_NAMES,
} from './family.ts';
import { MONITORED_FAMILIES } from './monitoredFamilies.ts';
import { PERCENTILE_LABEL } from '../nrql/queryRows.ts';
import { WINDOW_FAMILIES } from './windowFamilies.ts';

/** The labels that all series of an entry of a list carry. */
const LABELS = {
  application: OF_APPLICATION,
  host: OF_HOST,
  instance: [...OF_HOST, 'instance_id', 'port'],
  key_transaction: [...OF_APPLICATION, 'key_transaction', 'key_transaction_id'],
};

/** The families of all kinds of entities, with the labels that all their series carry, in the order in which they are documented. */
export const SECTIONS: readonly {
  readonly title: string;
  /** What the families are about, as in their names. */
  readonly kind: string;
  readonly entityLabelNames: readonly string[];
  readonly families: readonly CatalogueFamily[];
}[] = [
  ...(['application', 'host', 'instance', 'key_transaction'] as const).map((kind) => ({
    title: 'State and rolling values',
    kind,
    entityLabelNames: LABELS[kind],
    families: LISTED_FAMILIES[`${kind}s`],
  })),
  {
    title: 'Window metrics',
    kind: 'application',
    entityLabelNames: OF_APPLICATION,
    families: WINDOW_FAMILIES.application,
  },
  { title: 'Counters', kind: 'application', entityLabelNames: OF_APPLICATION, families: COUNTER_FAMILIES },
  { title: 'Window metrics', kind: 'host', entityLabelNames: OF_HOST, families: WINDOW_FAMILIES.host },
  {
    title: 'Entities of other types',
    kind: 'entity',
    entityLabelNames: ['account', ...MONITORED_LABEL_NAMES],
    families: MONITORED_FAMILIES,
  },
];

/** Every family that `/probe` can have, and `/metrics` beside the exporter's own. */
export const FAMILIES: readonly CatalogueFamily[] = SECTIONS.flatMap((section) => section.families);

/** Names that a custom metric may not take: all families, the exporter's own too, with the parts of histograms. */
export const BUILT_IN_NAMES: ReadonlySet<string> = new Set([
  ...FAMILIES.map((family) => family.name),
  ...[...EXPORTER_FAMILIES, ...PROBE_FAMILIES].flatMap(({ name, type }) =>
    type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ),
]);

/** Labels of families without static labels, or on which the label of the family takes precedence. */
const OF_EXPORTER_ONLY = ['account_id', 'entry'];

/**
 * Label names that an account's static labels may not take: names of all families, of queries, and of Prometheus. The names of
 * entities are reserved only in accounts with entities, by a rule of their own.
 */
export const RESERVED_LABEL_NAMES: ReadonlySet<string> = new Set(
  [
    ...SECTIONS.flatMap(({ entityLabelNames }) => entityLabelNames),
    ...[...FAMILIES, ...EXPORTER_FAMILIES, ...PROBE_FAMILIES].flatMap(({ labelNames }) => labelNames),
    PERCENTILE_LABEL,
    ...PROMETHEUS_LABEL_NAMES,
  ].filter((name) => ![...MONITORED_LABEL_NAMES, ...OF_EXPORTER_ONLY].includes(name)),
);

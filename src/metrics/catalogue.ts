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

const LISTED = 'State and rolling values';
const OF_INSTANCE = [...OF_HOST, 'instance_id', 'port'];
const OF_KEY_TRANSACTION = [...OF_APPLICATION, 'key_transaction', 'key_transaction_id'];
const OF_ENTITY = ['account', ...MONITORED_LABEL_NAMES];

/**
 * The families of all kinds of entities, with the labels that all their series carry, in the order in which they are documented.
 * `kind` is what they are about, as in their names.
 */
export const SECTIONS = [
  { title: LISTED, kind: 'application', carried: OF_APPLICATION, families: LISTED_FAMILIES.applications },
  { title: LISTED, kind: 'host', carried: OF_HOST, families: LISTED_FAMILIES.hosts },
  { title: LISTED, kind: 'instance', carried: OF_INSTANCE, families: LISTED_FAMILIES.instances },
  { title: LISTED, kind: 'key_transaction', carried: OF_KEY_TRANSACTION, families: LISTED_FAMILIES.key_transactions },
  { title: 'Window metrics', kind: 'application', carried: OF_APPLICATION, families: WINDOW_FAMILIES.application },
  { title: 'Counters', kind: 'application', carried: OF_APPLICATION, families: COUNTER_FAMILIES },
  { title: 'Window metrics', kind: 'host', carried: OF_HOST, families: WINDOW_FAMILIES.host },
  { title: 'Entities of other types', kind: 'entity', carried: OF_ENTITY, families: MONITORED_FAMILIES },
] as const;

/** Every family that `/probe` can have, and `/metrics` beside the exporter's own. */
export const FAMILIES: readonly CatalogueFamily[] = SECTIONS.flatMap(
  (section): readonly CatalogueFamily[] => section.families,
);

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
    ...SECTIONS.flatMap(({ carried }) => carried),
    ...[...FAMILIES, ...EXPORTER_FAMILIES, ...PROBE_FAMILIES].flatMap(({ labelNames }) => labelNames),
    PERCENTILE_LABEL,
    ...PROMETHEUS_LABEL_NAMES,
  ].filter((name) => ![...MONITORED_LABEL_NAMES, ...OF_EXPORTER_ONLY].includes(name)),
);

import { LISTED_FAMILIES } from './listedFamilies.ts';
import { EXPORTER_FAMILIES, PROBE_FAMILIES } from './catalogueExporter.ts';
import { COUNTER_FAMILIES } from './counterFamilies.ts';
import {
  type CatalogueFamily,
  MONITORED_LABEL_NAMES,
  APPLICATION_LABELS,
  HOST_LABELS,
  PROMETHEUS_LABEL_NAMES,
} from './family.ts';
import { MONITORED_FAMILIES } from './monitoredFamilies.ts';
import { PERCENTILE_LABEL } from '../nrql/queryRows.ts';
import { WINDOW_FAMILIES } from './windowFamilies.ts';

const LISTED = 'State and rolling values';
const INSTANCE_LABELS = [...HOST_LABELS, 'instance_id', 'port'];
const KEY_TRANSACTION_LABELS = [...APPLICATION_LABELS, 'key_transaction', 'key_transaction_id'];
const ENTITY_LABELS = ['account', ...MONITORED_LABEL_NAMES];

/**
 * Families of all kinds of entities, with the labels that all their series have, in the order of the documentation.
 * `kind` is the kind of entity, as in the names of the families.
 */
export const SECTIONS = [
  { title: LISTED, kind: 'application', carried: APPLICATION_LABELS, families: LISTED_FAMILIES.applications },
  { title: LISTED, kind: 'host', carried: HOST_LABELS, families: LISTED_FAMILIES.hosts },
  { title: LISTED, kind: 'instance', carried: INSTANCE_LABELS, families: LISTED_FAMILIES.instances },
  {
    title: LISTED,
    kind: 'key_transaction',
    carried: KEY_TRANSACTION_LABELS,
    families: LISTED_FAMILIES.key_transactions,
  },
  { title: 'Window metrics', kind: 'application', carried: APPLICATION_LABELS, families: WINDOW_FAMILIES.application },
  { title: 'Counters', kind: 'application', carried: APPLICATION_LABELS, families: COUNTER_FAMILIES },
  { title: 'Window metrics', kind: 'host', carried: HOST_LABELS, families: WINDOW_FAMILIES.host },
  { title: 'Entities of other types', kind: 'entity', carried: ENTITY_LABELS, families: MONITORED_FAMILIES },
] as const;

/** All families of `/probe`, and of `/metrics` except for the own metrics of the exporter. */
export const FAMILIES: readonly CatalogueFamily[] = SECTIONS.flatMap(
  (section): readonly CatalogueFamily[] => section.families,
);

/** Names that custom metrics must not take: all families, also of the exporter itself, with the parts of histograms. */
export const BUILT_IN_NAMES: ReadonlySet<string> = new Set([
  ...FAMILIES.map((family) => family.name),
  ...[...EXPORTER_FAMILIES, ...PROBE_FAMILIES].flatMap(({ name, type }) =>
    type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ),
]);

/** Labels that static labels of an account may have too: they never meet, or the label of the family wins. */
const EXPORTER_ONLY_LABELS = ['account_id', 'entry'];

/**
 * Label names that static labels of an account must not take: of all families, of queries, and of Prometheus. Names
 * of entity labels are reserved only in accounts with entities; the rules of the configuration check them.
 */
export const RESERVED_LABEL_NAMES: ReadonlySet<string> = new Set(
  [
    ...SECTIONS.flatMap(({ carried }) => carried),
    ...[...FAMILIES, ...EXPORTER_FAMILIES, ...PROBE_FAMILIES].flatMap(({ labelNames }) => labelNames),
    PERCENTILE_LABEL,
    ...PROMETHEUS_LABEL_NAMES,
  ].filter((name) => ![...MONITORED_LABEL_NAMES, ...EXPORTER_ONLY_LABELS].includes(name)),
);

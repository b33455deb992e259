import { APPLICATION, HOST, INSTANCE, KEY_TRANSACTION } from './entityFamilies.ts';
import { EXPORTER_FAMILIES, PROBE_FAMILIES } from './catalogueExporter.ts';
import type { CatalogueFamily } from './family.ts';
import { WINDOW_TABLE } from './windowFamilies.ts';

/** The families of one kind of entity, with the labels that all their series carry. */
export interface CatalogueSection {
  readonly title: string;
  readonly entityLabelNames: readonly string[];
  readonly families: readonly CatalogueFamily[];
}

const OF_APPLICATION = ['account', 'app', 'app_id'];
const OF_HOST = [...OF_APPLICATION, 'host', 'host_id'];

/** The families of all kinds of entities, by section, in the order in which they are documented. */
export function sectionsOf(window: typeof WINDOW_TABLE.rows): readonly CatalogueSection[] {
  return [
    {
      title: 'Applications: state and rolling values',
      entityLabelNames: OF_APPLICATION,
      families: APPLICATION,
    },
    { title: 'Hosts: state and rolling values', entityLabelNames: OF_HOST, families: HOST },
    {
      title: 'Instances: state and rolling values',
      entityLabelNames: [...OF_HOST, 'instance_id', 'port'],
      families: INSTANCE,
    },
    {
      title: 'Key transactions: state and rolling values',
      entityLabelNames: [...OF_APPLICATION, 'key_transaction', 'key_transaction_id'],
      families: KEY_TRANSACTION,
    },
    { title: 'Applications: window metrics', entityLabelNames: OF_APPLICATION, families: window.application },
    { title: 'Hosts: window metrics', entityLabelNames: OF_HOST, families: window.host },
  ];
}

export const SECTIONS = sectionsOf(WINDOW_TABLE.rows);

/** Every family that `/probe` can have, and `/metrics` beside the exporter's own. */
export const FAMILIES: readonly CatalogueFamily[] = SECTIONS.flatMap((section) => section.families);

/** Names that a custom metric may not take: all families, the exporter's own too, with the parts of histograms. */
export const BUILT_IN_NAMES: ReadonlySet<string> = new Set([
  ...FAMILIES.map((family) => family.name),
  ...[...EXPORTER_FAMILIES, ...PROBE_FAMILIES].flatMap(({ name, type }) =>
    type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ),
]);

import type { Group } from './groups.ts';

/** Label names and values, in the order in which they are written. */
export type Labels = Readonly<Record<string, string>>;

/** One metric family of the catalogue, or of a custom metric. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge';
  /** The unit the name ends in (OpenMetrics UNIT metadata), where it has one. */
  readonly unit: 'seconds' | 'bytes' | 'ratio' | undefined;
  /** The group whose refresh brings its values. */
  readonly group: Group;
  /** Label names beyond those of the entity, such as `component`. */
  readonly labelNames: readonly string[];
}

/** One value of a family. The labels of the entity it belongs to are added when an answer is put together. */
export interface Sample {
  readonly family: Family;
  /** Labels beyond those of the entity; undefined where there are none. */
  readonly labels: Labels | undefined;
  /** A finite number in base units. */
  readonly value: number;
}

/** The samples of one entity in one group, with the labels that all of them carry. */
export interface Block {
  readonly group: Group;
  /** The same object as long as the entity's labels are the same: renderers may cache by identity. */
  readonly labels: Labels;
  /** The same array as long as the values are the same: renderers may cache by identity. */
  readonly samples: readonly Sample[];
}

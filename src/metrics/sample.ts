import type { Group } from '../reads/reads.ts';

/** Label names and values, in the order in which they are written. */
export type Labels = Readonly<Record<string, string>>;

/** The labels of all samples of a task, as names and values and in written form. */
export interface WrittenLabels {
  readonly labels: Labels;
  readonly bytes: Buffer;
}

/** One metric family of the catalogue, or of a custom metric. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  /** The unit the name ends in (OpenMetrics UNIT metadata), where it has one. */
  readonly unit: 'seconds' | 'bytes' | 'ratio' | undefined;
  /** The group whose refresh brings its values. */
  readonly group: Group;
  /** Label names beyond those of the entity, such as `component`. */
  readonly labelNames: readonly string[];
}

/**
 * One value of a family. The labels of its entity are added when an exposition is made; the check of the configuration ensures
 * that no label has two values.
 */
export interface Sample {
  readonly family: Family;
  /** Labels beyond those of the entity; undefined where there are none. */
  readonly labels: Labels | undefined;
  /** A finite number in base units. */
  readonly value: number;
}

/** One family with one set of labels beyond the labels of the entity: a sample without its value. */
export interface Column {
  readonly family: Family;
  readonly labels: Labels;
  /** The labels as they are written; empty where there are none. */
  readonly labelBytes: Buffer;
  /** Equal for columns that write the same series with their labels in another order. */
  readonly seriesKey: string;
}

/** The columns of a task's samples, in order. Tasks with the same columns share one list. */
export type Columns = readonly Column[];

/**
 * Samples as they are kept: each value is the text that an exposition shows, which takes a quarter of the memory of samples.
 * The task's labels are stored separately, because labels and values change independently.
 */
export interface WrittenSamples {
  readonly columns: Columns;
  readonly values: readonly string[];
}

/** A number of series of one family that were left out of an exposition, all from the samples of one task. */
export interface DroppedSeries {
  readonly family: string;
  readonly series: number;
  /** Identifies the read of their values; the object is only compared. */
  readonly reading: object;
}

/** The samples of one task in one group, with the labels that all of them carry. */
export interface Block {
  readonly group: Group;
  readonly labels: Labels;
  /** The labels as they are written; the same object until they change. */
  readonly labelBytes: Buffer;
  readonly samples: WrittenSamples;
}

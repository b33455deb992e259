import type { Group } from '../reads/reads.ts';

export type Labels = Readonly<Record<string, string>>;

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
  readonly group: Group;
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

export type Columns = readonly Column[];

/** Samples as they are kept: a value is the text that an exposition shows, which takes a quarter of the memory of samples. */
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
  readonly labelBytes: Buffer;
  readonly samples: WrittenSamples;
}

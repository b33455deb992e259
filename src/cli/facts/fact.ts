/** A statement about New Relic that the exporter relies on and that no document settles. */
export interface Fact {
  readonly id: string;
  /** What we rely on. */
  readonly relies: string;
  /** Where it comes from: a page, public code, or our inference. */
  readonly source: string;
  /** How the account is asked. */
  readonly asked: string;
  /** What of the exporter is wrong where it differs: families, with `*` for any part of a name, or a setting. */
  readonly wrong: readonly string[];
  /** Ids of facts that differ too where this one does, because they are read with its help. */
  readonly follows?: readonly string[];
}

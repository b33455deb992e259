/** A statement about New Relic that the exporter relies on and no document settles. */
export interface Fact {
  readonly id: string;
  /** The assumption of the exporter. */
  readonly relies: string;
  /** The source of the assumption: a page, public code, or our inference. */
  readonly source: string;
  /** The method by which an account is checked. */
  readonly asked: string;
  /** The affected parts of the exporter when it differs: families, with `*` for any part of a name, or a setting. */
  readonly wrong: readonly string[];
  /** Ids of facts that then differ too, because they are read with its help. */
  readonly follows?: readonly string[];
}

import { labelBytes } from '../metrics/labelText.ts';
import type { Labels } from '../metrics/sample.ts';

interface EntityLabels {
  readonly labels: Labels;
  readonly bytes: Buffer;
}

/**
 * The labels of the entities of an answer as they are written. They are taken from an earlier answer where the labels are
 * the same object. Entities rarely come or go, so the same place is tried first. (A WeakMap would do it too, at many times
 * the cost: the garbage collector visits its entries one by one.)
 */
export class EntityLabelTexts {
  readonly #earlier: readonly EntityLabels[];
  readonly #own: EntityLabels[] = [];
  #byLabels: Map<Labels, EntityLabels> | undefined;

  constructor(earlier: EntityLabelTexts | undefined) {
    this.#earlier = earlier === undefined ? [] : earlier.#own;
  }

  /** The labels of the entity that comes next in the answer. */
  next(labels: Labels): Buffer {
    const expected = this.#earlier[this.#own.length];
    const entity = expected?.labels === labels ? expected : this.#find(labels);
    this.#own.push(entity);
    return entity.bytes;
  }

  #find(labels: Labels): EntityLabels {
    this.#byLabels ??= new Map(this.#earlier.map((entity) => [entity.labels, entity]));
    let entity = this.#byLabels.get(labels);
    if (entity === undefined) this.#byLabels.set(labels, (entity = { labels, bytes: labelBytes(labels) }));
    return entity;
  }
}

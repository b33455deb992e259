import { Entity, type Kind, type Subject } from './entity.ts';
import type { Rolling } from './records.ts';

/** Makes the entities of an inventory and lets them go; counts how often either happens. */
export class Entities {
  readonly #now: () => number;
  readonly #retired: (entity: Entity) => void;
  #version = 0;

  /**
   * @param now the monotonic clock, milliseconds
   * @param retired told of every entity that leaves
   */
  constructor(now: () => number, retired: (entity: Entity) => void) {
    this.#now = now;
    this.#retired = retired;
  }

  /** Grows whenever an entity comes or goes. */
  get version(): number {
    return this.#version;
  }

  make(kind: Kind, subject: Subject): Entity {
    this.#version += 1;
    return new Entity(kind, subject, this.#now());
  }

  /** The entity there is, or a new one, while it is wanted; else none. */
  keep(wanted: boolean, before: Entity | undefined, kind: Kind, subject: Subject): Entity | undefined {
    if (wanted) return before ?? this.make(kind, subject);
    if (before !== undefined) this.retire([before]);
    return undefined;
  }

  /** As `keep`, for rolling values that are read apart from their list. */
  keepRolling(wanted: boolean, before: Rolling | undefined, kind: Kind, subject: Subject): Rolling | undefined {
    const entity = this.keep(wanted, before?.entity, kind, subject);
    if (entity === undefined) return undefined;
    return before ?? { entity, values: undefined, samples: undefined };
  }

  /** What these entities still bring is dropped. */
  retire(entities: readonly Entity[]): void {
    for (const entity of entities) {
      this.#version += 1;
      entity.retire();
      this.#retired(entity);
    }
  }
}

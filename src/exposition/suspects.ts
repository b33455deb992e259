import type { Block, Family } from '../metrics/sample.ts';
import type { BlockText } from './blockText.ts';

interface Noted {
  readonly family: Family;
  /** Label names of the entities it belongs to, as far as they differ. */
  readonly schemas: Set<string>;
  lastSchema: string;
}

/**
 * Finds the families that may hold one series twice, without looking at every series. Two blocks can only give the same
 * series of a family when the labels of their entities are the same, or when one has in its samples' labels what the other
 * has in its entity's. The first is found by one look-up per block, because a family belongs to one group; a family
 * that does not keep to one group is suspected outright. The second is found from the label names.
 */
export class SuspectFamilies {
  readonly #noted = new Map<string, Noted>();
  readonly #keys = new Map<string, Set<string>>();
  readonly #addedNames = new Set<string>();
  readonly #suspects = new Set<string>();

  note(block: Block, text: BlockText): void {
    const repeated = !this.#isNewEntity(block, text);
    for (const { family } of text.sections) {
      const noted = this.#familyOf(family, text);
      if (repeated || family.group !== block.group || noted.family.group !== family.group) {
        this.#suspects.add(family.name);
      }
      if (noted.lastSchema !== text.labels.schema) {
        noted.lastSchema = text.labels.schema;
        noted.schemas.add(text.labels.schema);
      }
    }
    for (const name of text.addedNames) {
      this.#addedNames.add(name);
    }
  }

  names(): ReadonlySet<string> {
    const isAdded = (schema: string) => schema.split(',').some((label) => this.#addedNames.has(label));
    for (const [name, { schemas }] of this.#noted) {
      if (schemas.size > 1 && [...schemas].some(isAdded)) {
        this.#suspects.add(name);
      }
    }
    return this.#suspects;
  }

  #isNewEntity(block: Block, text: BlockText): boolean {
    let keys = this.#keys.get(block.group);
    if (keys === undefined) {
      keys = new Set();
      this.#keys.set(block.group, keys);
    }
    const { size } = keys;
    return keys.add(text.labels.key).size > size;
  }

  #familyOf(family: Family, { labels }: BlockText): Noted {
    let noted = this.#noted.get(family.name);
    if (noted === undefined) {
      noted = { family, schemas: new Set([labels.schema]), lastSchema: labels.schema };
      this.#noted.set(family.name, noted);
    }
    return noted;
  }
}

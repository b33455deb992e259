import type { Block, Family } from '../metrics/sample.ts';
import type { BlockText } from './blockText.ts';

interface Noted {
  readonly family: Family;
  /** Label names of the blocks it came in, as far as they differ. */
  readonly schemas: Set<string>;
  lastNames: readonly string[];
  readonly addedNames: Set<string>;
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
  readonly #suspects = new Set<string>();

  note(block: Block, text: BlockText): void {
    const repeated = !this.#isNewEntity(block, text);
    for (const { family } of text.sections) {
      const noted = this.#familyOf(family, text);
      if (repeated || family.group !== block.group || noted.family.group !== family.group) {
        this.#suspects.add(family.name);
      }
      if (noted.lastNames !== text.labels.names) {
        noted.lastNames = text.labels.names;
        noted.schemas.add(text.labels.names.join());
      }
      if (text.addedNames.size > 0) {
        text.addedNames.forEach((name) => noted.addedNames.add(name));
      }
    }
  }

  names(): ReadonlySet<string> {
    for (const [name, { schemas, addedNames }] of this.#noted) {
      if (schemas.size > 1 && [...schemas].some((schema) => schema.split(',').some((label) => addedNames.has(label)))) {
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
      noted = { family, schemas: new Set([labels.names.join()]), lastNames: labels.names, addedNames: new Set() };
      this.#noted.set(family.name, noted);
    }
    return noted;
  }
}

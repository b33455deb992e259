import type { Block, Family, Labels, Sample } from '../metrics/sample.ts';
import type { LabelText } from './labelText.ts';
import { labelPairs, seriesKey } from './labelText.ts';
import type { Sliced } from './slices.ts';
import { LINES_PER_SLICE } from './slices.ts';

/** Whether a sample can be written with the labels of its entity: a finite value, no label a second time. */
export function isWritable({ labels, value }: Sample, entity: Labels): boolean {
  if (!Number.isFinite(value)) {
    return false;
  }
  for (const name in labels) {
    if (Object.hasOwn(entity, name)) {
      return false;
    }
  }
  return true;
}

/**
 * The series of one family, in order, each with the labels of its entity. None is in it twice, and yet hardly any has to be
 * compared: two blocks can only give the same series when their entities have the same labels (`repeated`; one look-up per
 * block finds those, because a family belongs to one group), or when one has among its samples' labels what the
 * other has among its entity's. A family in which either is possible is compared whole, in `settle`.
 */
export class FamilySeries {
  readonly family: Family;
  entities: LabelText[] = [];
  samples: Sample[] = [];
  /** Series left out because the family has them already. */
  duplicates = 0;
  #block: Block | undefined;
  /** Made when a block brings a second sample. */
  #keysOfBlock: Set<string> | undefined;
  readonly #schemas = new Set<string>();
  #schema = '';
  #suspect = false;

  constructor(family: Family) {
    this.family = family;
  }

  add(sample: Sample, block: Block, entity: LabelText, repeated: boolean): void {
    if (this.#block !== block) {
      this.#enter(sample, block, entity, repeated);
    } else if (!this.#isNewInBlock(sample)) {
      this.duplicates += 1;
      return;
    }
    this.samples.push(sample);
    this.entities.push(entity);
  }

  /** Leaves out what is there twice; `addedNames` are all label names that samples add to those of their entities. */
  *settle(addedNames: ReadonlySet<string>): Sliced<never> {
    const isAmbiguous = (schema: string) => schema.split(',').some((name) => addedNames.has(name));
    if (!this.#suspect && (this.#schemas.size < 2 || ![...this.#schemas].some(isAmbiguous))) {
      return;
    }
    const { samples, entities } = this;
    const seen = new Set<string>();
    this.samples = [];
    this.entities = [];
    for (const [index, sample] of samples.entries()) {
      const entity = entities[index];
      if (entity === undefined) {
        continue;
      }
      if (index % LINES_PER_SLICE === 0) {
        yield;
      }
      const key = seriesKey([...labelPairs(entity.source), ...labelPairs(sample.labels ?? {})]);
      if (seen.has(key)) {
        this.duplicates += 1;
        continue;
      }
      seen.add(key);
      this.samples.push(sample);
      this.entities.push(entity);
    }
  }

  #enter(sample: Sample, block: Block, entity: LabelText, repeated: boolean): void {
    this.#block = block;
    this.#keysOfBlock = undefined;
    this.#suspect ||= repeated || sample.family.group !== block.group || sample.family.group !== this.family.group;
    if (this.#schema !== entity.schema) {
      this.#schema = entity.schema;
      this.#schemas.add(entity.schema);
    }
  }

  #isNewInBlock(sample: Sample): boolean {
    const last = this.samples.at(-1);
    this.#keysOfBlock ??= new Set(last === undefined ? [] : [keyOf(last)]);
    const { size } = this.#keysOfBlock;
    return this.#keysOfBlock.add(keyOf(sample)).size > size;
  }
}

/** Within a block, the labels of the entity are the same. Most samples add one label, and no label name begins with `=`. */
function keyOf({ labels = {} }: Sample): string {
  const names = Object.keys(labels);
  const [name = ''] = names;
  return names.length === 1 ? `=${name}=${labels[name] ?? ''}` : seriesKey(labelPairs(labels));
}

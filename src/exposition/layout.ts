import type { Block, Family, Sample } from '../metrics/sample.ts';
import type { AnswerCounts } from './counts.ts';
import { overflowing } from './guard.ts';
import type { LabelText } from './labelText.ts';
import { LabelTexts } from './labelText.ts';
import { FamilySeries, isWritable } from './series.ts';
import type { Sliced } from './slices.ts';
import { LINES_PER_SLICE } from './slices.ts';

/** What an answer is written from: the series of each family together, none twice, and within `max_series`. */
export interface Layout extends AnswerCounts {
  readonly families: readonly FamilySeries[];
  /** One for each block, in order. */
  readonly entities: readonly LabelText[];
}

/** Lays out the blocks of an answer; `earlier` are the entities of an answer before, whose label text is used again. */
export function* layOut(
  blocks: readonly Block[],
  earlier: readonly LabelText[],
  maxSeries: number,
): Sliced<never, Layout> {
  const labelTexts = new LabelTexts(earlier);
  const finder = new FamilyFinder();
  const seenEntities = new SeenEntities();
  const addedNames = new Set<string>();
  const entities: LabelText[] = [];
  let refused = 0;
  let work = 0;
  const addSamples = (block: Block, entity: LabelText, repeated: boolean, first: number, end: number): void => {
    for (let place = first; place < end; place += 1) {
      const sample = block.samples[place];
      if (sample === undefined) {
        continue;
      }
      const family = finder.find(sample, place);
      if (!isWritable(sample, block.labels)) {
        refused += 1;
        continue;
      }
      family.add(sample, block, entity, repeated);
      for (const name in sample.labels) {
        addedNames.add(name);
      }
    }
  };
  for (const [place, block] of blocks.entries()) {
    const entity = labelTexts.of(block, place);
    const repeated = seenEntities.has(block, entity);
    entities.push(entity);
    for (let first = 0; first < block.samples.length; first += LINES_PER_SLICE) {
      const end = Math.min(first + LINES_PER_SLICE, block.samples.length);
      addSamples(block, entity, repeated, first, end);
      work += end - first;
      if (work >= LINES_PER_SLICE) {
        work = 0;
        yield;
      }
    }
  }
  for (const family of finder.families()) {
    yield* family.settle(addedNames);
  }
  return { ...guarded(finder.families(), maxSeries), entities, refused };
}

function guarded(all: readonly FamilySeries[], maxSeries: number): Omit<Layout, 'entities' | 'refused'> {
  const written = all.filter(({ samples }) => samples.length > 0);
  const counts = new Map(written.map(({ family, samples }) => [family.name, samples.length]));
  const dropped = overflowing(counts, maxSeries);
  return {
    families: written.filter(({ family }) => !dropped.has(family.name)),
    series: new Map([...counts].filter(([name]) => !dropped.has(name))),
    dropped,
    duplicates: all.reduce((sum, { duplicates }) => sum + duplicates, 0),
  };
}

/** Families by name, in order of first appearance. */
class FamilyFinder {
  readonly #byName = new Map<string, FamilySeries>();
  /** Blocks of one kind have their families in the same places: what was found last time is tried first. */
  readonly #byPlace: (readonly [Family, FamilySeries])[] = [];

  find({ family }: Sample, place: number): FamilySeries {
    const expected = this.#byPlace[place];
    if (expected?.[0] === family) {
      return expected[1];
    }
    let found = this.#byName.get(family.name);
    if (found === undefined) {
      found = new FamilySeries(family);
      this.#byName.set(family.name, found);
    }
    this.#byPlace[place] = [family, found];
    return found;
  }

  families(): readonly FamilySeries[] {
    return [...this.#byName.values()];
  }
}

/** Tells whether a group has had a block of the same labels before. */
class SeenEntities {
  readonly #keys = new Map<string, Set<string>>();

  has({ group }: Block, { key }: LabelText): boolean {
    let keys = this.#keys.get(group);
    if (keys === undefined) {
      keys = new Set();
      this.#keys.set(group, keys);
    }
    const { size } = keys;
    return keys.add(key).size === size;
  }
}

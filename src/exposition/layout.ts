import type { Block, Family } from '../metrics/sample.ts';
import type { BlockText, Section } from './blockText.ts';
import { BlockWriter } from './blockText.ts';
import type { AnswerCounts } from './counts.ts';
import { overflowing } from './guard.ts';
import type { LabelText } from './labelText.ts';
import { labelText } from './labelText.ts';
import type { Sliced } from './slices.ts';
import { LINES_PER_SLICE } from './slices.ts';
import { SuspectFamilies } from './suspects.ts';

/** The texts of an answer's families, in the order in which they are written, without their metadata. */
export interface Layout extends AnswerCounts {
  readonly families: readonly FamilyText[];
}

export interface FamilyText {
  readonly family: Family;
  readonly texts: readonly string[];
}

interface OpenFamily {
  readonly family: Family;
  texts: string[];
  lines: number;
}

/** Keeps the text of blocks and labels as long as the collector keeps the objects they were made from. */
export class TextCache {
  readonly #labels = new WeakMap<object, LabelText>();
  readonly #blocks = new WeakMap<object, BlockText>();

  /** The text of every block, that of known ones as it was. */
  *textsOf(blocks: readonly Block[]): Sliced<never, BlockText[]> {
    const texts: BlockText[] = [];
    let work = 0;
    for (const block of blocks) {
      const labels = this.#labelText(block);
      const held = this.#blocks.get(block.samples);
      if (held?.labels === labels) {
        texts.push(held);
        continue;
      }
      const writer = new BlockWriter(block, labels);
      for (const sample of block.samples) {
        writer.add(sample);
        work += 1;
        if (work % LINES_PER_SLICE === 0) {
          yield;
        }
      }
      const text = writer.finish();
      this.#blocks.set(block.samples, text);
      texts.push(text);
    }
    return texts;
  }

  #labelText(block: Block): LabelText {
    let text = this.#labels.get(block.labels);
    if (text === undefined) {
      text = labelText(block.labels);
      this.#labels.set(block.labels, text);
    }
    return text;
  }
}

/** Brings the lines of each family together, without any series twice and within `maxSeries`. */
export function* layOut(blocks: readonly Block[], cache: TextCache, maxSeries: number): Sliced<never, Layout> {
  const texts = yield* cache.textsOf(blocks);
  const families = new Map<string, OpenFamily>();
  const suspects = new SuspectFamilies();
  let refused = 0;
  let duplicates = 0;
  let work = 0;
  for (const [index, text] of texts.entries()) {
    refused += text.refused;
    duplicates += text.duplicates;
    for (const section of text.sections) {
      append(families, section);
    }
    const block = blocks[index];
    if (block !== undefined) {
      suspects.note(block, text);
    }
    work += text.sections.length;
    if (work >= LINES_PER_SLICE) {
      work = 0;
      yield;
    }
  }
  duplicates += yield* withoutRepeats(families, suspects.names(), blocks);
  return { ...guarded(families, maxSeries), refused, duplicates };
}

function append(families: Map<string, OpenFamily>, { family, text, lines }: Section): void {
  let open = families.get(family.name);
  if (open === undefined) {
    open = { family, texts: [], lines: 0 };
    families.set(family.name, open);
  }
  if (lines > 0) {
    open.texts.push(text);
    open.lines += lines;
  }
}

/** Writes the suspected families anew, series by series; gives the number of repeated ones, which are left out. */
function* withoutRepeats(
  families: Map<string, OpenFamily>,
  suspects: ReadonlySet<string>,
  blocks: readonly Block[],
): Sliced<never, number> {
  if (suspects.size === 0) {
    return 0;
  }
  const seen = new Map([...suspects].map((name) => [name, new Set<string>()]));
  const before = total(families, suspects);
  for (const name of suspects) {
    const open = families.get(name);
    if (open !== undefined) {
      open.texts = [];
      open.lines = 0;
    }
  }
  let work = 0;
  for (const block of blocks) {
    const writer = new BlockWriter(block, labelText(block.labels), seen);
    for (const sample of block.samples) {
      writer.add(sample);
      work += 1;
      if (work % LINES_PER_SLICE === 0) {
        yield;
      }
    }
    for (const section of writer.finish().sections) {
      append(families, section);
    }
  }
  return before - total(families, suspects);
}

function total(families: ReadonlyMap<string, OpenFamily>, names: ReadonlySet<string>): number {
  return [...names].reduce((sum, name) => sum + (families.get(name)?.lines ?? 0), 0);
}

function guarded(
  families: ReadonlyMap<string, OpenFamily>,
  maxSeries: number,
): Pick<Layout, 'families' | 'series' | 'dropped'> {
  const written = [...families.values()].filter(({ lines }) => lines > 0);
  const counted = new Map(written.map(({ family, lines }) => [family.name, lines]));
  const dropped = overflowing(counted, maxSeries);
  return {
    families: written.filter(({ family }) => !dropped.has(family.name)),
    series: new Map([...counted].filter(([name]) => !dropped.has(name))),
    dropped,
  };
}

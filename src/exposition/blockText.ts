import type { Block, Family, Sample } from '../metrics/sample.ts';
import type { LabelText } from './labelText.ts';
import { closedText, labelPairs, seriesKey } from './labelText.ts';
import { LINES_PER_SLICE } from './slices.ts';

/** Consecutive lines of one family in one block. */
export interface Section {
  readonly family: Family;
  readonly text: string;
  readonly lines: number;
}

/** The text of a block: its families in order of first appearance; a long family has several sections, one after the other. */
export interface BlockText {
  readonly labels: LabelText;
  readonly sections: readonly Section[];
  /** Names of labels that samples add to those of the entity. */
  readonly addedNames: ReadonlySet<string>;
  readonly refused: number;
  readonly duplicates: number;
}

/** Keys of the series that are written already, where a family's series have to be told apart one by one. */
export type SeenSeries = ReadonlyMap<string, Set<string>>;

interface OpenFamily {
  readonly family: Family;
  /** Four to a line: joined, they give flat text, where concatenation would keep every part alive. */
  parts: string[];
  readonly full: Section[];
  first: Sample | undefined;
  /** One sample of a family in a block is the rule: keys are only made when there is a second. */
  keys: Set<string> | undefined;
}

const PARTS_PER_LINE = 4;
const NO_NAMES: ReadonlySet<string> = new Set();

/** Puts the text of one block together, sample by sample. */
export class BlockWriter {
  readonly #block: Block;
  readonly #labels: LabelText;
  readonly #seen: SeenSeries | undefined;
  readonly #families = new Map<string, OpenFamily>();
  #current: OpenFamily | undefined;
  #addedNames: Set<string> | undefined;
  #refused = 0;
  #duplicates = 0;

  /** With `seen`, only the families named there are written, and only what is not in it. */
  constructor(block: Block, labels: LabelText, seen?: SeenSeries) {
    this.#block = block;
    this.#labels = labels;
    this.#seen = seen;
  }

  add(sample: Sample): void {
    if (this.#seen !== undefined && !this.#seen.has(sample.family.name)) {
      return;
    }
    const family = this.#familyOf(sample);
    if (!Number.isFinite(sample.value) || this.#repeatsLabel(sample)) {
      this.#refused += 1;
    } else if (this.#isKnown(family, sample)) {
      this.#duplicates += 1;
    } else {
      this.#write(family, sample);
    }
  }

  finish(): BlockText {
    const sections = [...this.#families.values()].flatMap((family) => [...family.full, sectionOf(family)]);
    return {
      labels: this.#labels,
      sections,
      addedNames: this.#addedNames ?? NO_NAMES,
      refused: this.#refused,
      duplicates: this.#duplicates,
    };
  }

  #familyOf(sample: Sample): OpenFamily {
    const { family } = sample;
    if (this.#current?.family === family) {
      return this.#current;
    }
    let open = this.#families.get(family.name);
    if (open === undefined) {
      open = { family, parts: [], full: [], first: undefined, keys: this.#seen?.get(family.name) };
      this.#families.set(family.name, open);
    }
    this.#current = open;
    return open;
  }

  #repeatsLabel({ labels }: Sample): boolean {
    if (labels === undefined) {
      return false;
    }
    this.#addedNames ??= new Set();
    let repeats = false;
    for (const name of Object.keys(labels)) {
      this.#addedNames.add(name);
      repeats ||= Object.hasOwn(this.#block.labels, name);
    }
    return repeats;
  }

  #isKnown(family: OpenFamily, sample: Sample): boolean {
    if (family.keys === undefined) {
      if (family.first === undefined) {
        family.first = sample;
        return false;
      }
      family.keys = new Set([this.#keyOf(family.first)]);
    }
    const { size } = family.keys;
    return family.keys.add(this.#keyOf(sample)).size === size;
  }

  /** Within a block the added labels tell series apart; between blocks, all of them do. */
  #keyOf({ labels }: Sample): string {
    const added = labels === undefined ? [] : labelPairs(labels);
    return seriesKey(this.#seen === undefined ? added : [...labelPairs(this.#block.labels), ...added]);
  }

  #write(family: OpenFamily, { labels, value }: Sample): void {
    const closed = labels === undefined ? this.#labels.closed : this.#closedWith(labels);
    family.parts.push(family.family.name, closed, String(value), '\n');
    if (family.parts.length >= LINES_PER_SLICE * PARTS_PER_LINE) {
      family.full.push(sectionOf(family));
      family.parts = [];
    }
  }

  #closedWith(labels: NonNullable<Sample['labels']>): string {
    const added = labelPairs(labels).join(',');
    const { text } = this.#labels;
    return closedText(text === '' || added === '' ? text + added : `${text},${added}`);
  }
}

function sectionOf(family: OpenFamily): Section {
  return { family: family.family, text: family.parts.join(''), lines: family.parts.length / PARTS_PER_LINE };
}

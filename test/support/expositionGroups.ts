import type { ParsedFamily, ParsedSample } from './expositionModel.ts';
import { FormatError } from './expositionModel.ts';

type Metadata = 'HELP' | 'TYPE' | 'UNIT';

interface OpenFamily {
  readonly name: string;
  readonly metadata: Map<Metadata, string>;
  readonly samples: ParsedSample[];
}

/** Gathers metadata and samples into families: each once, its lines together, its metadata in the order of the format. */
export class FamilyGroups {
  readonly #order: readonly Metadata[];
  readonly #sampleNames: (family: string, type: string) => readonly string[];
  readonly #families = new Map<string, OpenFamily>();
  readonly #series = new Set<string>();
  #current: OpenFamily | undefined;

  constructor(order: readonly Metadata[], sampleNames: (family: string, type: string) => readonly string[]) {
    this.#order = order;
    this.#sampleNames = sampleNames;
  }

  metadata(kind: Metadata, name: string, content: string, line: number): void {
    if (this.#current?.name !== name) {
      this.#open(name, line);
    }
    const { metadata, samples } = this.#current ?? fail('no family', line, name);
    const last = [...metadata.keys()].at(-1);
    if (samples.length > 0) throw new FormatError(`${kind} after samples`, line, name);
    if (last !== undefined && this.#order.indexOf(kind) <= this.#order.indexOf(last)) {
      throw new FormatError(`${kind} after ${last}`, line, name);
    }
    metadata.set(kind, content);
  }

  sample(sample: ParsedSample, line: number): void {
    const { name, metadata, samples } = this.#current ?? fail('sample without metadata', line, sample.name);
    const type = metadata.get('TYPE') ?? fail('sample without TYPE', line, sample.name);
    if (!this.#sampleNames(name, type).includes(sample.name)) {
      throw new FormatError(`sample does not belong to ${type} ${name}`, line, sample.name);
    }
    const series = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
    if (this.#series.has(series)) throw new FormatError('series given twice', line, series);
    this.#series.add(series);
    samples.push(sample);
  }

  families(): ParsedFamily[] {
    return [...this.#families.values()].map(({ name, metadata, samples }) => ({
      name,
      type: metadata.get('TYPE') ?? fail('no TYPE', 0, name),
      help: metadata.get('HELP'),
      unit: metadata.get('UNIT'),
      samples,
    }));
  }

  #open(name: string, line: number): void {
    if (this.#families.has(name)) throw new FormatError('lines of a family are not together', line, name);
    this.#current = { name, metadata: new Map(), samples: [] };
    this.#families.set(name, this.#current);
  }
}

function fail(problem: string, line: number, text: string): never {
  throw new FormatError(problem, line, text);
}

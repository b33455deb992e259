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
    const families = [...this.#families.values()].map(({ name, metadata, samples }) => ({
      name,
      type: metadata.get('TYPE') ?? fail('no TYPE', 0, name),
      help: metadata.get('HELP'),
      unit: metadata.get('UNIT'),
      samples,
    }));
    families.filter(({ type }) => type === 'histogram').forEach(checkHistogram);
    return families;
  }

  #open(name: string, line: number): void {
    if (this.#families.has(name)) throw new FormatError('lines of a family are not together', line, name);
    this.#current = { name, metadata: new Map(), samples: [] };
    this.#families.set(name, this.#current);
  }
}

/** Buckets ascend in bound and count, the last is +Inf and equals the count. */
function checkHistogram({ name, samples }: ParsedFamily): void {
  const bySeries = groupBy(samples, ({ labels }) => {
    return JSON.stringify(Object.entries(labels).filter(([label]) => label !== 'le'));
  });
  for (const [series, points] of bySeries) {
    const buckets = points.filter((point) => point.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => Number((labels['le'] ?? 'NaN').replace('Inf', 'Infinity')));
    const ascends = (numbers: readonly number[]) => numbers.every((n, i) => i === 0 || n >= (numbers[i - 1] ?? NaN));
    const count = points.find((point) => point.name === `${name}_count`)?.value;
    if (bounds.at(-1) !== Infinity || new Set(bounds).size !== bounds.length || !ascends(bounds)) {
      throw new FormatError('bounds of buckets', 0, name + series);
    }
    if (!ascends(buckets.map((bucket) => bucket.value)) || buckets.at(-1)?.value !== count) {
      throw new FormatError('counts of buckets', 0, name + series);
    }
  }
}

function fail(problem: string, line: number, text: string): never {
  throw new FormatError(problem, line, text);
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}

import { isMap, isPair, isScalar, isSeq, Scalar } from 'yaml';
import type { Document, Node, Pair } from 'yaml';
import type { Path } from '../fault.ts';

export interface Place {
  /** Offsets in the text; a list item has no key. */
  readonly key: number | undefined;
  readonly value: number;
  /** The node there and, where that is an alias, what it stands for. */
  readonly nodes: readonly Node[];
}

/** Finds the places of the values of a document. */
export class Places {
  readonly #root: Node | null;
  readonly #targets: ReadonlyMap<Node, Node>;
  /** The pairs of a mapping by key: without them, faults of a long mapping would each go through all of it. */
  readonly #pairs = new Map<Node, ReadonlyMap<unknown, Pair>>();

  /** @param targets what each alias stands for */
  constructor(document: Document.Parsed, targets: ReadonlyMap<Node, Node>) {
    this.#root = document.contents;
    this.#targets = targets;
  }

  /** The places of a value and of all that hold it, from the top of the file down, as far as there are any. */
  on(path: Path): readonly Place[] {
    const places = [this.#place(this.#root, undefined)];
    for (const step of path) {
      const below = this.#below(places.at(-1)?.nodes.at(-1), step);
      if (below === undefined) break;
      places.push(isPair(below) ? this.#place(below.value as Node | null, below) : this.#place(below, undefined));
    }
    return places;
  }

  #below(holder: Node | undefined, step: string | number): Pair | Node | undefined {
    if (isSeq(holder) && typeof step === 'number') return holder.items[step] as Node | undefined;
    if (!isMap(holder)) return undefined;
    let pairs = this.#pairs.get(holder);
    if (pairs === undefined) {
      pairs = new Map(holder.items.map((pair) => [isScalar(pair.key) ? pair.key.value : undefined, pair]));
      this.#pairs.set(holder, pairs);
    }
    return pairs.get(step);
  }

  #place(node: Node | null, pair: Pair | undefined): Place {
    const key = pair === undefined ? undefined : startOf(null, pair);
    return { key, value: startOf(node, pair), nodes: this.#resolve(node) };
  }

  #resolve(node: Node | null): readonly Node[] {
    if (node === null) return [];
    const target = this.#targets.get(node);
    return target === undefined ? [node] : [node, ...this.#resolve(target)];
  }
}

/** The offset where a value begins; for one that is left empty, where its key does, or where a list item would be. */
export function startOf(node: Node | null, holder: unknown): number {
  const key = isPair(holder) && isScalar(holder.key) ? holder.key.range?.[0] : undefined;
  const isEmpty = node === null || (isScalar(node) && node.type === Scalar.PLAIN && node.source === '');
  return (isEmpty ? key : undefined) ?? node?.range?.[0] ?? key ?? 0;
}

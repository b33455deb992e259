import { isAlias, isMap, isPair, isScalar, isSeq, Scalar, visit } from 'yaml';
import type { Alias, Document, Node, Pair, YAMLMap, YAMLSeq } from 'yaml';
import type { Path } from '../diagnostic.ts';
import { expandPlaceholders, type Environment } from './placeholders.ts';

/** Aliases of aliases can turn a few lines into a billion values. */
const MAX_ALIASED_VALUES = 10_000;

const NO_ANCHOR =
  'a value that begins with * needs quotes, else it is an alias of YAML: no anchor of this name stands before';

const DUPLICATE = 'duplicate key: keep one of them';
const NO_MERGE = 'the merge key << needs a mapping, an alias of one, or a list of these';

const CORE_TAGS: Readonly<Record<string, (value: unknown) => boolean>> = {
  '!': () => true,
  'tag:yaml.org,2002:str': (value) => typeof value === 'string',
  'tag:yaml.org,2002:int': (value) => Number.isInteger(value),
  'tag:yaml.org,2002:float': (value) => typeof value === 'number',
  'tag:yaml.org,2002:bool': (value) => typeof value === 'boolean',
  'tag:yaml.org,2002:null': (value) => value === null,
  'tag:yaml.org,2002:seq': isSeq,
  'tag:yaml.org,2002:map': isMap,
};

/** A problem in a file. `offset` counts from the start of the text. */
export interface YamlProblem {
  readonly offset: number;
  /** A function: only shown problems need their path, and finding it searches a long list. */
  readonly path: () => Path;
  readonly message: string;
  readonly isName?: boolean | undefined;
}

type Ancestors = readonly (Document | Node | Pair)[];

/**
 * Holds the plain values of a document with their locations; null for an invalid value. The environment, if given,
 * replaces placeholders. An expanded text gets the type that YAML would give it. Keys, tags and aliases are checked.
 */
export class DocumentValues {
  readonly value: unknown;
  readonly problems: YamlProblem[] = [];
  readonly #document: Document.Parsed;
  readonly #env: Environment | undefined;
  /** True for YAML 1.1: it has merge keys, and accepts any plain value as text. */
  readonly #isVersion11: boolean;
  /** Offsets of unknown tags, largest first. A tag precedes its node; tags of earlier nodes are removed. */
  readonly #tags: number[];
  /** Invalid nodes. Further problems of their values are not reported. */
  readonly #invalid = new Set<Node>();
  /** Expanded texts of values with placeholders, before they get a type. */
  readonly #expansions = new Map<Node, string>();
  readonly #pairs = new Map<YAMLMap, ReadonlyMap<unknown, Pair>>();
  readonly #anchors = new Map<string, Node>();
  /** Targets of aliases at their position: an anchor may be redefined further down. */
  readonly #targets = new Map<Alias, Node>();

  constructor(document: Document.Parsed, env: Environment | undefined, isVersion11: boolean) {
    this.#document = document;
    this.#env = env;
    this.#isVersion11 = isVersion11;
    this.#tags = document.warnings.map(({ pos }) => pos[0]).sort((a, b) => b - a);
    visit(document, {
      Map: (_key, node, ancestors) => {
        this.#checkKeys(node, ancestors);
        this.#check(node, node, ancestors);
      },
      Seq: (_key, node, ancestors) => this.#check(node, node, ancestors),
      Scalar: (key, node, ancestors) => {
        if (key !== 'key') this.#expand(node, ancestors);
      },
      Alias: (_key, node, ancestors) => this.#resolve(node, ancestors),
    });
    try {
      this.value = document.toJS({ maxAliasCount: MAX_ALIASED_VALUES });
    } catch (error) {
      if (!(error instanceof ReferenceError)) throw error;
    }
  }

  /** Returns the value at a path and the values around it, from the top of the file down, as far as they exist. */
  locate(path: Path) {
    const found = [this.#position(this.#document.contents)];
    for (const step of path) {
      const node = found.at(-1)?.node;
      const pair = isMap(node) ? this.#pairs.get(node)?.get(step) : undefined;
      const inside = pair === undefined && isSeq(node) ? node.items[Number(step)] : pair?.value;
      if (inside === undefined) break;
      found.push(this.#position(inside as Node | null, pair?.key as Scalar | undefined));
    }
    return found;
  }

  /** True if a value, or a value around it, is already reported as invalid. */
  isInvalid(path: Path): boolean {
    return this.locate(path).some(({ node }) => node !== null && this.#invalid.has(node));
  }

  /** Returns the text of a value before it got a type: of values with placeholders, in YAML 1.1 of every scalar. */
  textOf(node: Node | null | undefined): string | undefined {
    if (!node) return undefined;
    return this.#isVersion11 && isScalar(node) ? node.source : this.#expansions.get(node);
  }

  /** Returns the offsets of a value and its key (list items have none), and its node; for an alias, the target node. */
  #position(written: Node | null, key?: Scalar) {
    const keyOffset = key?.range?.[0];
    const node = isAlias(written) ? (this.#targets.get(written) ?? written) : written;
    return { offset: startOf(written, keyOffset), key: keyOffset, node };
  }

  #checkKeys(node: YAMLMap, ancestors: Ancestors): void {
    const pairs = new Map<unknown, Pair>();
    node.items = node.items
      .flatMap((pair) => this.#merge(pair, node, ancestors))
      .filter((pair) => {
        const { key } = pair;
        if (!isScalar(key) || typeof key.value !== 'string' || key.tag !== undefined) {
          this.#fail(node, ancestors, 'a key must be plain text, without alias or tag');
          return false;
        }
        const name = key.value;
        const message = pairs.has(name) ? DUPLICATE : findKeyProblem(name);
        if (message === undefined) pairs.set(name, pair);
        else this.problems.push({ offset: startOf(key), path: () => [...pathOf(node, ancestors), name], message });
        return message === undefined;
      });
    this.#pairs.set(node, pairs);
  }

  /** Replaces a merge key of YAML 1.1 by the merged pairs. Returns other pairs unchanged. */
  #merge(pair: Pair, node: YAMLMap, ancestors: Ancestors): readonly Pair[] {
    const { key, value } = pair;
    if (!this.#isVersion11 || !isScalar(key) || key.type !== Scalar.PLAIN || key.value !== '<<') return [pair];
    const sources = (isSeq(value) ? value.items : [value]).map((each) =>
      isAlias(each) ? this.#anchors.get(each.source) : each,
    );
    const maps = sources.filter((each) => isMap(each) && each !== node && !ancestors.includes(each));
    if (maps.length < sources.length) this.#fail(node, ancestors, NO_MERGE, startOf(key));
    return maps.flatMap((each) => (each as YAMLMap).items.flatMap((inner) => this.#merge(inner, node, ancestors)));
  }

  /** Replaces the placeholders of a text. An invalid text becomes null. */
  #expand(node: Scalar, ancestors: Ancestors): void {
    const env = typeof node.value === 'string' && node.value.includes('${') ? this.#env : undefined;
    const expansion = env && expandPlaceholders(String(node.value), env);
    if (typeof expansion === 'string') {
      this.#expansions.set(node, expansion);
      const isTyped = node.type === Scalar.PLAIN && node.tag === undefined;
      node.value = isTyped ? parseScalar(this.#document, expansion) : expansion;
    } else if (expansion !== undefined) this.#fail(node, ancestors, expansion.problem);
    this.#check(node, node.value, ancestors);
    if (this.#invalid.has(node)) node.value = null;
  }

  /** Records the target of an alias. Returns an empty value for an invalid alias. */
  #resolve(alias: Alias, ancestors: Ancestors): Node | undefined {
    const target = this.#anchors.get(alias.source);
    if (target !== undefined && !ancestors.includes(target)) {
      this.#targets.set(alias, target);
      return undefined;
    }
    const empty = new Scalar(null);
    empty.range = alias.range ?? null;
    this.#fail(empty, ancestors, target === undefined ? NO_ANCHOR : 'the alias stands inside what it refers to');
    return empty;
  }

  #check(node: Scalar | YAMLMap | YAMLSeq, value: unknown, ancestors: Ancestors): void {
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (node.tag === undefined || this.#invalid.has(node) || CORE_TAGS[node.tag]?.(value) === true) return;
    const start = startOf(node);
    while ((this.#tags.at(-2) ?? Infinity) <= start) this.#tags.pop();
    const offset = Math.min(this.#tags.at(-1) ?? start, start);
    this.#fail(node, ancestors, 'the tag of this value is unknown or does not fit it: remove it', offset);
  }

  #fail(node: Node, ancestors: Ancestors, message: string, offset = startOf(node)): void {
    this.#invalid.add(node);
    this.problems.push({ offset, path: () => pathOf(node, ancestors), message });
  }
}

function pathOf(node: Node, ancestors: Ancestors): Path {
  const nodes = [...ancestors, node];
  return ancestors.flatMap((each, index): Path => {
    if (isPair<Scalar<string>>(each)) return [each.key.value];
    return isSeq(each) ? [each.items.indexOf(nodes[index + 1])] : [];
  });
}

/** Returns the offset of a value; for an empty value, the offset of its key or list item. */
function startOf(node: Node | null, key?: number): number {
  const isEmpty = node === null || (isScalar(node) && node.type === Scalar.PLAIN && node.source === '');
  return (isEmpty ? key : undefined) ?? node?.range?.[0] ?? key ?? 0;
}

function findKeyProblem(name: string): string | undefined {
  // Check it here: many libraries skip this key before a schema sees it.
  if (name === '__proto__') return 'unknown key';
  return name === '<<' ? 'YAML 1.2 has no merge keys: write the keys out' : undefined;
}

/** Parses a text as YAML would parse it unquoted; never as a mapping or a list. */
function parseScalar(document: Document.Parsed, text: string): unknown {
  for (const tag of document.schema.tags) {
    if (tag.collection !== undefined || tag.default !== true || tag.test?.test(text.trim()) !== true) continue;
    const value = tag.resolve(text.trim(), () => undefined, {});
    return isScalar(value) ? value.value : value;
  }
  return text;
}

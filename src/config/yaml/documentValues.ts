import { isAlias, isMap, isPair, isScalar, isSeq, Scalar, visit } from 'yaml';
import type { Alias, Document, Node, Pair, YAMLMap, YAMLSeq } from 'yaml';
import type { Path } from '../diagnostic.ts';
import { expandPlaceholders, type Environment } from './placeholders.ts';

/** Aliases of aliases can make a billion values out of a few lines. */
const MAX_ALIASED_VALUES = 10_000;

const NO_ANCHOR =
  'a value that begins with * needs quotes, else it is an alias of YAML: no anchor of this name stands before';

const DUPLICATE = 'duplicate key: keep one of them';
const NO_MERGE = 'the merge key << needs a mapping, an alias of one, or a list of these';

/** The check of a value's type for each tag of the core schema. */
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

/** A problem in a file; the offset counts from the start of the text. */
export interface YamlProblem {
  readonly offset: number;
  /** A function, because only the few problems that are shown need their path, and a long list is searched for it. */
  readonly path: () => Path;
  readonly message: string;
  /** As of an issue. */
  readonly isName?: boolean | undefined;
}

type Ancestors = readonly (Document | Node | Pair)[];

/**
 * The plain values of a document (null for an invalid one), with their locations. A text with placeholders, which the environment
 * replaces where there is one, gets the type that YAML would give it; keys, tags and aliases are checked.
 */
export class DocumentValues {
  /** Undefined where the aliases stand for too many values. */
  readonly value: unknown;
  readonly problems: YamlProblem[] = [];
  readonly #document: Document.Parsed;
  readonly #env: Environment | undefined;
  /** True for a dialect: it has merge keys, and any plain value is text where text is expected. */
  readonly #isDialect: boolean;
  /** The offsets of unknown tags, largest first. A tag stands before its node; the tags of earlier nodes are removed. */
  readonly #unknownTags: number[];
  /** Invalid nodes; further problems of their values are not reported. */
  readonly #invalid = new Set<Node>();
  /** The expanded text of values with placeholders, before it got a type. */
  readonly #expansions = new Map<Node, string>();
  /** The valid pairs of each mapping, by key. */
  readonly #pairs = new Map<YAMLMap, ReadonlyMap<unknown, Pair>>();
  readonly #anchors = new Map<string, Node>();
  /** The target of each alias, recorded where the alias stands: its anchor may be defined again further down. */
  readonly #targets = new Map<Alias, Node>();

  constructor(document: Document.Parsed, env: Environment | undefined, isDialect: boolean) {
    this.#document = document;
    this.#env = env;
    this.#isDialect = isDialect;
    this.#unknownTags = document.warnings.map(({ pos }) => pos[0]).sort((a, b) => b - a);
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

  /** The value at a path and the values around it, from the top of the file down, as far as they exist. */
  on(path: Path) {
    const found = [this.#locate(this.#document.contents)];
    for (const step of path) {
      const node = found.at(-1)?.node;
      const pair = isMap(node) ? this.#pairs.get(node)?.get(step) : undefined;
      const inside = pair === undefined && isSeq(node) ? node.items[Number(step)] : pair?.value;
      if (inside === undefined) break;
      found.push(this.#locate(inside as Node | null, pair?.key as Scalar | undefined));
    }
    return found;
  }

  /** True when a value, or one around it, is already reported as invalid. */
  isInvalid(path: Path): boolean {
    return this.on(path).some(({ node }) => node !== null && this.#invalid.has(node));
  }

  /** The text of a value with placeholders, and in a dialect of any scalar, before it got a type. */
  textOf(node: Node | null | undefined): string | undefined {
    if (!node) return undefined;
    return this.#isDialect && isScalar(node) ? node.source : this.#expansions.get(node);
  }

  /** The offsets of a value and of its key, which an item of a list has not, and its node; for an alias, its target. */
  #locate(written: Node | null, key?: Scalar) {
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
        const message = pairs.has(key.value) ? DUPLICATE : keyProblem(key.value);
        if (message === undefined) pairs.set(key.value, pair);
        else
          this.problems.push({
            path: () => [...pathOf(node, ancestors), key.value as string],
            offset: startOf(key),
            message,
          });
        return message === undefined;
      });
    this.#pairs.set(node, pairs);
  }

  /** Replaces a merge key of a dialect by the pairs that it merges. Returns any other pair unchanged. */
  #merge(pair: Pair, node: YAMLMap, ancestors: Ancestors): readonly Pair[] {
    const { key, value } = pair;
    if (!this.#isDialect || !isScalar(key) || key.type !== Scalar.PLAIN || key.value !== '<<') return [pair];
    const sources = (isSeq(value) ? value.items : [value]).map((each) =>
      isAlias(each) ? this.#anchors.get(each.source) : each,
    );
    const maps = sources.filter((each) => isMap(each) && each !== node && !ancestors.includes(each));
    if (maps.length < sources.length) this.#fail(node, ancestors, NO_MERGE, startOf(key));
    return maps.flatMap((each) => (each as YAMLMap).items.flatMap((inner) => this.#merge(inner, node, ancestors)));
  }

  /** Replaces the placeholders of a text; null where one is invalid. */
  #expand(node: Scalar, ancestors: Ancestors): void {
    const env = typeof node.value === 'string' && node.value.includes('${') ? this.#env : undefined;
    const expansion = env && expandPlaceholders(String(node.value), env);
    if (typeof expansion === 'string') {
      this.#expansions.set(node, expansion);
      const isTyped = node.type === Scalar.PLAIN && node.tag === undefined;
      node.value = isTyped ? typed(this.#document, expansion) : expansion;
    } else if (expansion !== undefined) this.#fail(node, ancestors, expansion.problem);
    this.#check(node, node.value, ancestors);
    if (this.#invalid.has(node)) node.value = null;
  }

  /** Notes the target of an alias; returns an empty value in place of an invalid one. */
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

  /** Records the anchor of a value, and checks its tag. */
  #check(node: Scalar | YAMLMap | YAMLSeq, value: unknown, ancestors: Ancestors): void {
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (node.tag === undefined || this.#invalid.has(node) || CORE_TAGS[node.tag]?.(value) === true) return;
    const offset = startOf(node);
    while ((this.#unknownTags.at(-2) ?? Infinity) <= offset) this.#unknownTags.pop();
    const tag = Math.min(this.#unknownTags.at(-1) ?? offset, offset);
    this.#fail(node, ancestors, 'the tag of this value is unknown or does not fit it: remove it', tag);
  }

  #fail(node: Node, ancestors: Ancestors, message: string, offset = startOf(node)): void {
    this.#invalid.add(node);
    this.problems.push({ offset, path: () => pathOf(node, ancestors), message });
  }
}

/** The keys and list positions that lead to a node. */
function pathOf(node: Node, ancestors: Ancestors): Path {
  const nodes = [...ancestors, node];
  return ancestors.flatMap((each, index): Path => {
    if (isPair<Scalar<string>>(each)) return [each.key.value];
    return isSeq(each) ? [each.items.indexOf(nodes[index + 1])] : [];
  });
}

/** The offset of a value; for an empty one, the offset of its key, or of the list item. */
function startOf(node: Node | null, key?: number): number {
  const isEmpty = node === null || (isScalar(node) && node.type === Scalar.PLAIN && node.source === '');
  return (isEmpty ? key : undefined) ?? node?.range?.[0] ?? key ?? 0;
}

function keyProblem(name: string): string | undefined {
  // Checked here, because many libraries skip this key before a schema sees it.
  if (name === '__proto__') return 'unknown key';
  return name === '<<' ? 'YAML 1.2 has no merge keys: write the keys out' : undefined;
}

/** The value that the text would have if it stood unquoted in the file; never a mapping or a list. */
function typed(document: Document.Parsed, text: string): unknown {
  for (const tag of document.schema.tags) {
    if (tag.collection !== undefined || tag.default !== true || tag.test?.test(text.trim()) !== true) continue;
    const value = tag.resolve(text.trim(), () => undefined, {});
    return isScalar(value) ? value.value : value;
  }
  return text;
}

import { isAlias, isMap, isScalar, isSeq, Scalar, type Alias, type Document, type Node, type Pair } from 'yaml';
import type { YAMLMap, YAMLSeq } from 'yaml';
import type { Path } from '../diagnostic.ts';
import { expandPlaceholders, type Environment, type Replacement } from './placeholders.ts';

/** Deepest nesting of a path; no valid file has as many levels. */
const MAX_DEPTH = 50;
/** Aliases of aliases can make a billion values out of a few lines. */
const MAX_ALIASED_VALUES = 10_000;
/** Most values, lists and mappings of a file; no configuration has as many. */
const MAX_VALUES = 50_000;

const NO_ANCHOR =
  'a value that begins with * needs quotes, else it is an alias of YAML: no anchor of this name stands before';
const TOO_MANY_ALIASES = 'the aliases stand for too many values';
export const TOO_DEEP = 'lists and mappings are nested too deeply';
export const TOO_LARGE = 'the file has more values than a configuration can have';

/** The check of a value's type for each tag of the core schema. */
const CORE_TAGS: Readonly<Record<string, (value: unknown) => boolean>> = {
  '!': () => true,
  'tag:yaml.org,2002:str': (value) => typeof value === 'string',
  'tag:yaml.org,2002:int': (value) => Number.isInteger(value),
  'tag:yaml.org,2002:float': (value) => typeof value === 'number',
  'tag:yaml.org,2002:bool': (value) => typeof value === 'boolean',
  'tag:yaml.org,2002:null': (value) => value === null,
  'tag:yaml.org,2002:seq': Array.isArray,
  'tag:yaml.org,2002:map': (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** A problem in a file; the offset counts from the start of the text. */
export interface YamlProblem {
  readonly offset: number;
  readonly path: Path;
  readonly message: string;
}

/** The location of a value: its path, and its offset in the text. */
interface Location {
  readonly path: Path;
  readonly offset: number;
}

interface LocatedValue extends Location {
  /** The offset of its key; an item of a list has none. */
  readonly key: number | undefined;
  /** The node of the value; for an alias, its target. */
  readonly node: Node | null;
  /** The values inside it, by key or index. Keys that spell out whole paths would repeat a long key for each value below it. */
  readonly below: Map<string | number, LocatedValue>;
}

/** The key of the file's root value in the map of locations. */
const WHOLE = '';

/**
 * The plain values of a document (null for an invalid one), with their locations. Placeholders are replaced from the
 * environment, and their results get a type as YAML would give; keys, tags, aliases and nesting are checked.
 */
export class DocumentValues {
  readonly value: unknown;
  readonly problems: YamlProblem[] = [];
  readonly #document: Document.Parsed;
  readonly #env: Environment;
  /** The offsets of unknown tags, the last first; the offsets of values already read are removed. */
  readonly #tags: number[];
  /** The location of the root value alone; the others are below it. */
  readonly #locations: LocatedValue['below'] = new Map();
  /** Invalid nodes; further problems of their values are not reported. */
  readonly #invalid = new Set<Node>();
  /** The expanded text of values with placeholders, before it got a type. */
  readonly #expansions = new Map<Node, { readonly text: string; readonly replacements: readonly Replacement[] }>();
  readonly #anchors = new Map<string, Node>();
  /** The target of each alias, kept when its anchor is defined again. */
  readonly #targets = new Map<Alias, Node>();
  /** The lists and mappings around the value that is being read. */
  readonly #open = new Set<Node>();
  #values = 0;
  #aliased = 0;

  constructor(document: Document.Parsed, env: Environment) {
    this.#document = document;
    this.#env = env;
    this.#tags = document.warnings.map(({ pos }) => pos[0]).sort((a, b) => b - a);
    this.value = this.#read(document.contents, [], undefined, false, this.#locations);
  }

  /** The reason why there are too many values; undefined when there are not. */
  get excess(): string | undefined {
    if (this.#aliased > MAX_ALIASED_VALUES) return TOO_MANY_ALIASES;
    return this.#values > MAX_VALUES ? TOO_LARGE : undefined;
  }

  /** The value at a path and the values around it, from the top of the file down, as far as they exist. */
  on(path: Path): readonly LocatedValue[] {
    const found: LocatedValue[] = [];
    let locations = this.#locations;
    for (const step of [WHOLE, ...path]) {
      const located: LocatedValue | undefined = locations.get(step);
      if (located === undefined) break;
      found.push(located);
      locations = located.below;
    }
    return found;
  }

  /** True when a value, or one around it, is already reported as invalid. */
  isInvalid(path: Path): boolean {
    return this.on(path).some(({ node }) => node !== null && this.#invalid.has(node));
  }

  /** The expanded text of a value with placeholders, and the replacements in it. */
  expansionOf(node: Node | null | undefined) {
    return node ? this.#expansions.get(node) : undefined;
  }

  /**
   * @param isAliased true for a repetition by an alias of a value that was read before
   * @param beside the map of locations that the value is added to
   */
  #read(
    written: Node | null,
    path: Path,
    key: Scalar | undefined,
    isAliased: boolean,
    beside: LocatedValue['below'],
  ): unknown {
    const keyOffset = key?.range?.[0];
    const location = { path, offset: startOf(written, keyOffset) };
    const node = isAlias(written) ? (this.#targetOf(written, location) ?? written) : written;
    const isRead = isAliased || node !== written;
    this.#values += 1;
    if (isRead) this.#aliased += 1;
    const below: LocatedValue['below'] = new Map();
    if (this.excess === undefined) beside.set(path.at(-1) ?? WHOLE, { ...location, key: keyOffset, node, below });
    // The limit stops only repetitions by aliases; the values written in the file are checked to the end.
    else if (isRead) return null;
    if (isMap(node) || isSeq(node)) return this.#collection(node, location, isRead, below);
    if (!isScalar(node)) return null;
    if (!isRead) this.#expand(node, location);
    return node.value;
  }

  #collection(node: YAMLMap | YAMLSeq, location: Location, isRead: boolean, below: LocatedValue['below']): unknown {
    const { path } = location;
    if (!isRead) {
      this.#check(node, isSeq(node) ? [] : {}, location);
      if (path.length >= MAX_DEPTH) {
        this.#fail(node, location, TOO_DEEP);
        node.items = [];
      }
      if (isMap(node)) this.#checkKeys(node, location);
    }
    this.#open.add(node);
    const value = isSeq(node)
      ? node.items.map((item, index) => this.#read(item as Node | null, [...path, index], undefined, isRead, below))
      : Object.fromEntries(
          (node.items as Pair<Scalar<string>, Node | null>[]).map(({ key, value: inner }) => [
            key.value,
            this.#read(inner, [...path, key.value], key, isRead, below),
          ]),
        );
    this.#open.delete(node);
    return value;
  }

  #checkKeys(node: YAMLMap, location: Location): void {
    const earlier = new Set<string>();
    node.items = node.items.filter(({ key }) => {
      if (!isScalar(key) || typeof key.value !== 'string' || key.tag !== undefined) {
        this.#fail(node, location, 'a key must be plain text, without alias or tag');
        return false;
      }
      const message = keyProblem(key.value, earlier);
      earlier.add(key.value);
      if (message === undefined) return true;
      this.problems.push({ path: [...location.path, key.value], offset: key.range?.[0] ?? 0, message });
      return false;
    });
  }

  /** Replaces the placeholders of a text; null where one is invalid. */
  #expand(node: Scalar, location: Location): void {
    const expansion = typeof node.value === 'string' ? expandPlaceholders(node.value, this.#env) : undefined;
    if (expansion !== undefined && 'problem' in expansion) this.#fail(node, location, expansion.problem);
    else if (expansion !== undefined && expansion.replacements.length > 0) {
      this.#expansions.set(node, expansion);
      const isTyped = node.type === Scalar.PLAIN && node.tag === undefined;
      node.value = isTyped ? typed(this.#document, expansion.text) : expansion.text;
    }
    this.#check(node, node.value, location);
    if (this.#invalid.has(node)) node.value = null;
  }

  /** The target of an alias; undefined where it is invalid. */
  #targetOf(alias: Alias, location: Location): Node | undefined {
    if (this.#invalid.has(alias)) return undefined;
    const target = this.#targets.get(alias) ?? this.#anchors.get(alias.source);
    if (target === undefined) this.#fail(alias, location, NO_ANCHOR);
    else if (this.#open.has(target)) this.#fail(alias, location, 'the alias stands inside what it refers to');
    else this.#targets.set(alias, target);
    return this.#targets.get(alias);
  }

  /** Records the anchor of a value, and checks its tag. */
  #check(node: Scalar | YAMLMap | YAMLSeq, value: unknown, { path, offset }: Location): void {
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (node.tag === undefined || this.#invalid.has(node) || CORE_TAGS[node.tag]?.(value) === true) return;
    while ((this.#tags.at(-2) ?? Infinity) < offset) this.#tags.pop();
    const tag = Math.min(this.#tags.at(-1) ?? Infinity, offset);
    this.#fail(node, { path, offset: tag }, 'the tag of this value is unknown or does not fit it: remove it');
  }

  #fail(node: Node, location: Location, message: string): void {
    this.#invalid.add(node);
    this.problems.push({ ...location, message });
  }
}

/** The offset of a value; for an empty one, the offset of its key, or of the list item. */
function startOf(node: Node | null, key: number | undefined): number {
  const isEmpty = node === null || (isScalar(node) && node.type === Scalar.PLAIN && node.source === '');
  return (isEmpty ? key : undefined) ?? node?.range?.[0] ?? key ?? 0;
}

function keyProblem(name: string, earlier: ReadonlySet<string>): string | undefined {
  // Checked here, because many libraries skip this key before a schema sees it.
  if (name === '__proto__') return 'unknown key';
  if (name === '<<') return 'YAML 1.2 has no merge keys: write the keys out';
  return earlier.has(name) ? 'duplicate key: keep one of them' : undefined;
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

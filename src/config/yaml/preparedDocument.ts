import {
  isMap,
  isPair,
  isScalar,
  isSeq,
  Scalar,
  type Document,
  type Node,
  type Pair,
  visit,
  type Alias,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { mayBeSecret, MOST_FAULTS, type Path } from '../fault.ts';
import type { Replacement } from './textPlace.ts';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A `${` with what belongs to it: a name and its end, or the begin of its default; nothing where it begins no placeholder. */
const PLACEHOLDER = /\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(\}|:-))?/y;

const INCOMPLETE = '"${" must begin ${NAME} or ${NAME:-default}: complete it, or write "$${" for a literal "${"';

/**
 * Replaces `${NAME}` and `${NAME:-default}` (the default counts when the variable is not set or empty); `$${` stands
 * for `${`. What a variable holds is taken as it is, never looked through for placeholders again.
 */
export function expandPlaceholders(
  text: string,
  env: Environment,
): { readonly text: string; readonly replacements: readonly Replacement[] } | { readonly problem: string } {
  const parts: string[] = [];
  const replacements: Replacement[] = [];
  let length = 0;
  let done = 0;
  /** Copies what stands before the placeholder, and puts a text in its place. */
  const replace = (from: number, to: number, by: string): void => {
    const at = length + from - done;
    parts.push(text.slice(done, from), by);
    replacements.push({ writtenAt: from, written: to - from, at, length: by.length });
    length = at + by.length;
    done = to;
  };
  for (let at = text.indexOf('${'); at >= 0; at = text.indexOf('${', done)) {
    if (at > done && text[at - 1] === '$') {
      replace(at - 1, at + 2, '${');
      continue;
    }
    PLACEHOLDER.lastIndex = at;
    const [whole = '', name, ending] = PLACEHOLDER.exec(text) ?? [];
    const begun = at + whole.length;
    const end = ending === ':-' ? text.indexOf('}', begun) : begun;
    if (name === undefined || end < 0) return { problem: INCOMPLETE };
    const fallback = ending === ':-' ? text.slice(begun, end) : undefined;
    if (fallback?.includes('${') === true) {
      return { problem: 'a default cannot hold another "${": give ${NAME:-default} a default of plain text' };
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined && fallback === undefined) return { problem: notSet(name) };
    const by = value === undefined || value === '' ? (fallback ?? '') : value;
    replace(at, fallback === undefined ? end : end + 1, by);
  }
  return { text: parts.join('') + text.slice(done), replacements };
}

function notSet(name: string): string {
  return mayBeSecret(name)
    ? 'the environment variable of this name is not set: write the name of a variable between "${" and "}"'
    : `the environment variable ${name} is not set: set it, or write \${${name}:-default}`;
}

/** The reverse: a text that expands to the given one. */
export function escapePlaceholders(text: string): string {
  return text.replaceAll('${', () => '$${');
}

interface NodePlace {
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
  on(path: Path): readonly NodePlace[] {
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

  #place(node: Node | null, pair: Pair | undefined): NodePlace {
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
function startOf(node: Node | null, holder: unknown): number {
  const key = isPair(holder) && isScalar(holder.key) ? holder.key.range?.[0] : undefined;
  const isEmpty = node === null || (isScalar(node) && node.type === Scalar.PLAIN && node.source === '');
  return (isEmpty ? key : undefined) ?? node?.range?.[0] ?? key ?? 0;
}

/** More levels than any valid file has. Deeper ones could overflow the stack of the library. */
const MAX_DEPTH = 50;
/** More aliases than a configuration needs. */
const MAX_ALIASES = 1_000;
/** Aliases of aliases can make a billion values out of a few lines. */
const MAX_ALIASED_VALUES = 10_000;
/** More values, lists and mappings than any configuration has. */
const MAX_VALUES = 50_000;

const TOO_MANY_ALIASES = 'the aliases stand for too many values';
export const TOO_LARGE = 'the file has more values than a configuration can have';

/** What a tag of the core schema says about the value it stands before. */
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

type Ancestors = readonly (Document | Node | Pair)[];

/**
 * Makes a document ready for conversion into plain values, in place: replaces placeholders from the environment and
 * types what they gave, and takes out what is at fault (keys, tags, aliases, nesting), all of which is told.
 */
export function prepareDocument(document: Document.Parsed, env: Environment): Preparation {
  const preparation = new Preparation(document, env);
  visit(document, {
    Map: (_key, node, ancestors) => (preparation.mapping(node, ancestors) ? undefined : visit.SKIP),
    Seq: (_key, node, ancestors) => (preparation.collection(node, ancestors) ? undefined : visit.SKIP),
    Scalar: (key, node, ancestors) => {
      if (key !== 'key') preparation.scalar(node, ancestors);
    },
    Alias: (_key, node, ancestors) => preparation.alias(node, ancestors),
  });
  return preparation;
}

/** What becomes known of the nodes of a document while they are visited, from the top of the file down. */
class Preparation {
  /** The first ones, in the order of the file, and how many there are besides; offsets count from the start of the text. */
  readonly problems: { readonly offset: number; readonly path: Path; readonly message: string }[] = [];
  more = 0;
  /** The nodes that are at fault: nothing further can be said about their values. */
  readonly faulty = new Set<Node>();
  /** For unquoted values with placeholders: the text that they expanded to, before it was typed. */
  readonly texts = new Map<Node, string>();
  /** The placeholders of values that had some. */
  readonly replacements = new Map<Node, readonly Replacement[]>();
  /** What each alias stands for. */
  readonly targets = new Map<Node, Node>();
  readonly #document: Document.Parsed;
  readonly #env: Environment;
  readonly #anchors = new Map<string, Node>();
  #toldOfTooManyAliases = false;

  constructor(document: Document.Parsed, env: Environment) {
    this.#document = document;
    this.#env = env;
  }

  /** Checks a mapping and its keys before its values are visited. False when its values are dropped. */
  mapping(node: YAMLMap, ancestors: Ancestors): boolean {
    if (!this.collection(node, ancestors)) return false;
    const earlier = new Set<string>();
    node.items = node.items.filter(({ key }) => {
      if (!isScalar(key) || typeof key.value !== 'string' || key.tag !== undefined) {
        this.#fail(node, ancestors, 'a key must be plain text, without alias or tag');
        return false;
      }
      const { value: name, range } = key;
      const message = keyProblem(name, earlier);
      earlier.add(name);
      if (message === undefined) return true;
      this.#add(() => ({ offset: range?.[0] ?? 0, path: [...pathOf(node, ancestors), name], message }));
      return false;
    });
    return true;
  }

  /** Checks a mapping or list before its items are visited. False when its items are dropped. */
  collection(node: YAMLMap | YAMLSeq, ancestors: Ancestors): boolean {
    this.#noteAnchor(node);
    this.#checkTag(node, isSeq(node) ? [] : {}, ancestors);
    if (ancestors.filter((one) => isPair(one) || isSeq(one)).length < MAX_DEPTH) return true;
    this.#fail(node, ancestors, 'lists and mappings are nested too deeply');
    node.items = [];
    return false;
  }

  /** Replaces the placeholders of a value; null where it is at fault. */
  scalar(node: Scalar, ancestors: Ancestors): void {
    this.#noteAnchor(node);
    const expansion = typeof node.value === 'string' ? expandPlaceholders(node.value, this.#env) : undefined;
    if (expansion !== undefined && 'problem' in expansion) this.#fail(node, ancestors, expansion.problem);
    else if (expansion !== undefined && expansion.replacements.length > 0) {
      const isTyped = node.type === Scalar.PLAIN && node.tag === undefined;
      if (isTyped) this.texts.set(node, expansion.text);
      this.replacements.set(node, expansion.replacements);
      node.value = isTyped ? typed(this.#document, expansion.text) : expansion.text;
    }
    if (!this.faulty.has(node)) this.#checkTag(node, node.value, ancestors);
    if (this.faulty.has(node)) node.value = null;
  }

  /** Notes what an alias stands for; gives a null to put in its place where that is at fault. */
  alias(node: Alias, ancestors: Ancestors): Scalar | undefined {
    const target = this.#anchors.get(node.source);
    if (target === undefined) this.#fail(node, ancestors, 'no anchor of this name stands before the alias');
    else if (ancestors.includes(target)) this.#fail(node, ancestors, 'the alias stands inside what it refers to');
    else if (this.targets.size < MAX_ALIASES) {
      this.targets.set(node, target);
      return undefined;
    } else if (!this.#toldOfTooManyAliases) {
      this.#toldOfTooManyAliases = true;
      this.#fail(node, ancestors, TOO_MANY_ALIASES);
    }
    const nothing = new Scalar(null);
    nothing.range = node.range ?? null;
    this.faulty.add(nothing);
    return nothing;
  }

  #noteAnchor(node: Scalar | YAMLMap | YAMLSeq): void {
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
  }

  #checkTag(node: Scalar | YAMLMap | YAMLSeq, value: unknown, ancestors: Ancestors): void {
    if (node.tag === undefined || CORE_TAGS[node.tag]?.(value) === true) return;
    this.faulty.add(node);
    this.#add(() => {
      const start = startOf(node, ancestors.at(-1));
      const tag = this.#document.warnings.findLast(({ pos }) => pos[0] < start)?.pos[0];
      const message = 'the tag of this value is unknown or does not fit it: remove it';
      return { offset: tag ?? start, path: pathOf(node, ancestors), message };
    });
  }

  #fail(node: Node, ancestors: Ancestors, message: string): void {
    this.faulty.add(node);
    this.#add(() => ({ offset: startOf(node, ancestors.at(-1)), path: pathOf(node, ancestors), message }));
  }

  /** Finding the place of a problem goes through all nodes beside it, so only those that are told get one. */
  #add(problem: () => Preparation['problems'][number]): void {
    if (this.problems.length < MOST_FAULTS) this.problems.push(problem());
    else this.more += 1;
  }
}

function keyProblem(name: string, earlier: ReadonlySet<string>): string | undefined {
  // A schema may not see this key: many libraries skip it.
  if (name === '__proto__') return 'unknown key';
  if (name === '<<') return 'YAML 1.2 has no merge keys: write the keys out';
  return earlier.has(name) ? 'duplicate key: keep one of them' : undefined;
}

/** The value that the text would have had, had it stood in the file unquoted; never a mapping or a list. */
function typed(document: Document.Parsed, text: string): unknown {
  for (const tag of document.schema.tags) {
    if (tag.collection !== undefined || tag.default !== true || tag.test?.test(text.trim()) !== true) continue;
    const value = tag.resolve(text.trim(), () => undefined, {});
    return isScalar(value) ? value.value : value;
  }
  return text;
}

function pathOf(node: Node, ancestors: Ancestors): Path {
  const chain = [...ancestors, node];
  return chain.flatMap((part, index): Path => {
    if (isPair(part)) return isScalar(part.key) ? [String(part.key.value)] : [];
    const holder = chain[index - 1];
    return isSeq(holder) ? [holder.items.indexOf(part)] : [];
  });
}

/** The plain values of a prepared document, or why they are too many. */
export function plainValue(
  document: Document.Parsed,
  targets: ReadonlyMap<Node, Node>,
): { readonly value: unknown } | { readonly problem: string } {
  let values = 0;
  let aliased = 0;
  const plain = (node: unknown, isAliased: boolean): unknown => {
    values += 1;
    if (isAliased) aliased += 1;
    if (aliased > MAX_ALIASED_VALUES || values > MAX_VALUES || node === null) return null;
    const target = targets.get(node as Node);
    if (target !== undefined) return plain(target, true);
    if (isMap(node)) {
      // Whatever is no text was taken out as a fault.
      const keyOf = ({ key }: Pair): string => (isScalar(key) ? String(key.value) : '');
      return Object.fromEntries(node.items.map((pair) => [keyOf(pair), plain(pair.value, isAliased)]));
    }
    if (isSeq(node)) return node.items.map((item) => plain(item, isAliased));
    return (node as Scalar).value;
  };
  const value = plain(document.contents, false);
  if (aliased > MAX_ALIASED_VALUES) return { problem: TOO_MANY_ALIASES };
  return values > MAX_VALUES ? { problem: TOO_LARGE } : { value };
}

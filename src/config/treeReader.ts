import { isAlias, isMap, isScalar, isSeq, Scalar } from 'yaml';
import type { Document, Node, Pair, YAMLMap, YAMLSeq } from 'yaml';
import type { Fault, Path } from './fault.ts';
import { expandPlaceholders } from './placeholders.ts';
import type { Environment } from './placeholders.ts';
import type { Places } from './places.ts';

/** Keeps a few lines of aliases from standing for a billion values. */
const MAX_ALIASED_NODES = 10_000;
/** Far beyond what the schema has; keeps this reader off the end of the stack. */
const MAX_DEPTH = 50;

/** What a tag of the core schema says about the value it stands before. */
const CORE_TAGS: Readonly<Record<string, (value: unknown) => boolean>> = {
  '!': () => true,
  'tag:yaml.org,2002:str': (value) => typeof value === 'string',
  'tag:yaml.org,2002:int': (value) => Number.isInteger(value),
  'tag:yaml.org,2002:float': (value) => typeof value === 'number',
  'tag:yaml.org,2002:bool': (value) => typeof value === 'boolean',
  'tag:yaml.org,2002:null': (value) => value === null,
  'tag:yaml.org,2002:seq': (value) => Array.isArray(value),
  'tag:yaml.org,2002:map': (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

interface Spot {
  readonly path: Path;
  readonly key: number | undefined;
  readonly offset: number;
}

/** Turns the nodes of one document into plain values, noting where each stands and what is at fault. */
export class TreeReader {
  readonly faults: Fault[] = [];
  readonly #document: Document.Parsed;
  readonly #places: Places;
  readonly #env: Environment;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  #aliasedNodes = 0;

  constructor(document: Document.Parsed, places: Places, env: Environment) {
    this.#document = document;
    this.#places = places;
    this.#env = env;
  }

  read(): unknown {
    const node = this.#document.contents;
    return this.#value(node, { path: [], key: undefined, offset: node?.range[0] ?? 0 });
  }

  /** Null stands for what is at fault: its place says so, and no second fault is made of it. */
  #fail(spot: Spot, message: string, offset = spot.offset): null {
    this.#places.set(spot.path, { key: spot.key, value: spot.offset, faulty: true });
    this.faults.push(this.#places.faultAt(offset, spot.path, message));
    return null;
  }

  #value(node: Node | null, spot: Spot): unknown {
    this.#places.set(spot.path, { key: spot.key, value: spot.offset });
    if (spot.path.length > MAX_DEPTH) return this.#fail(spot, 'lists and mappings are nested too deeply');
    if (this.#aliasDepth > 0) {
      this.#aliasedNodes += 1;
      if (this.#aliasedNodes === MAX_ALIASED_NODES) return this.#fail(spot, 'the aliases stand for too many values');
      if (this.#aliasedNodes > MAX_ALIASED_NODES) return null;
    }
    if (node === null) return null;
    if (isAlias(node)) return this.#alias(node.source, spot);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    this.#open.add(node);
    const value = this.#content(node, spot);
    this.#open.delete(node);
    const fits = node.tag === undefined || CORE_TAGS[node.tag]?.(value) === true;
    if (fits || this.#places.isFaulty(spot.path)) return value;
    const start = node.range?.[0] ?? spot.offset;
    const tag = this.#document.warnings.findLast(({ pos }) => pos[0] < start)?.pos[0];
    return this.#fail(spot, 'the tag of this value is unknown or does not fit it: remove it', tag);
  }

  #alias(name: string, spot: Spot): unknown {
    const target = this.#anchors.get(name);
    if (target === undefined) return this.#fail(spot, 'no anchor of this name stands before the alias');
    if (this.#open.has(target)) return this.#fail(spot, 'the alias stands inside what it refers to');
    this.#aliasDepth += 1;
    const value = this.#value(target, spot);
    this.#aliasDepth -= 1;
    return value;
  }

  #content(node: Scalar | YAMLMap | YAMLSeq, spot: Spot): unknown {
    if (isMap(node)) return this.#mapping(node.items, spot);
    if (isSeq(node)) {
      return node.items.map((item, index) => {
        const child = item as Node;
        return this.#value(child, {
          path: [...spot.path, index],
          key: undefined,
          offset: child.range?.[0] ?? spot.offset,
        });
      });
    }
    return this.#scalar(node, spot);
  }

  #mapping(pairs: readonly Pair[], spot: Spot): unknown {
    // Without a prototype no key means anything but itself.
    const mapping = Object.create(null) as Record<string, unknown>;
    for (const pair of pairs) {
      if (!isScalar(pair.key) || typeof pair.key.value !== 'string' || pair.key.tag !== undefined) {
        this.#fail(spot, 'a key must be plain text, without alias or tag');
        continue;
      }
      const name = pair.key.value;
      const path = [...spot.path, name];
      const key = pair.key.range?.[0] ?? spot.offset;
      if (name === '__proto__') {
        // No schema can be trusted to see this one.
        this.faults.push(this.#places.faultAt(key, path, 'unknown key'));
      } else if (name === '<<') {
        this.faults.push(this.#places.faultAt(key, path, 'YAML 1.2 has no merge keys: write the keys out'));
      } else if (Object.hasOwn(mapping, name)) {
        this.faults.push(this.#places.faultAt(key, path, 'duplicate key: keep one of them'));
      } else {
        const node = pair.value as Node | null;
        const empty = node === null || (isScalar(node) && node.type === Scalar.PLAIN && node.source === '');
        mapping[name] = this.#value(node, { path, key, offset: empty ? key : (node.range?.[0] ?? key) });
      }
    }
    return mapping;
  }

  #scalar(node: Scalar, spot: Spot): unknown {
    if (typeof node.value !== 'string') return node.value;
    const expansion = expandPlaceholders(node.value, this.#env);
    if ('problem' in expansion) return this.#fail(spot, expansion.problem);
    if (!expansion.replaced || node.type !== Scalar.PLAIN || node.tag !== undefined) return expansion.text;
    this.#places.set(spot.path, { key: spot.key, value: spot.offset, text: expansion.text });
    return this.#typed(expansion.text);
  }

  /** The value that the text would have had, had it stood in the file unquoted; never a mapping or a list. */
  #typed(text: string): unknown {
    for (const tag of this.#document.schema.tags) {
      if (tag.collection !== undefined || tag.default !== true || tag.test?.test(text.trim()) !== true) continue;
      const typed = tag.resolve(text.trim(), () => undefined, {});
      return isScalar(typed) ? typed.value : typed;
    }
    return text;
  }
}

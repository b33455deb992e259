import { isPair, isScalar, isSeq, Scalar, visit } from 'yaml';
import type { Document, Node, Pair, YAMLMap, YAMLSeq } from 'yaml';
import type { Path } from '../fault.ts';
import { expandPlaceholders } from '../placeholders.ts';
import type { Environment } from '../placeholders.ts';
import { startOf } from './places.ts';

/** More levels than any valid file has. Deeper ones could overflow the stack of the library. */
const MAX_DEPTH = 50;
/** More aliases than a configuration needs. For each alias the library searches all nodes for its anchor. */
const MAX_ALIASES = 1_000;

export const TOO_MANY_ALIASES = 'the aliases stand for too many values';

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

/** Something at fault in the tree; `offset` counts from the start of the text. */
export interface TreeProblem {
  readonly offset: number;
  readonly path: Path;
  readonly message: string;
}

/** What became known of the nodes of a document. */
export interface Settled {
  readonly problems: readonly TreeProblem[];
  /** The nodes that are at fault: nothing further can be said about their values. */
  readonly faulty: ReadonlySet<Node>;
  /** For unquoted values with placeholders: the text that they expanded to, before it was typed. */
  readonly texts: ReadonlyMap<Node, string>;
  /** What each alias stands for. */
  readonly targets: ReadonlyMap<Node, Node>;
}

type Ancestors = readonly (Document | Node | Pair)[];

/**
 * Makes a document ready for conversion into plain values, in place: replaces placeholders from the environment and
 * types what they gave, and takes out what is at fault (keys, tags, aliases, nesting), all of which is told.
 */
export function settle(document: Document.Parsed, env: Environment): Settled {
  const problems: TreeProblem[] = [];
  const faulty = new Set<Node>();
  const texts = new Map<Node, string>();
  const targets = new Map<Node, Node>();
  const anchors = new Map<string, Node>();
  let isTooMany = false;

  const fail = (node: Node, ancestors: Ancestors, message: string, offset = startOf(node, ancestors.at(-1))): void => {
    faulty.add(node);
    problems.push({ offset, path: pathOf(node, ancestors), message });
  };
  const checkTag = (node: Scalar | YAMLMap | YAMLSeq, value: unknown, ancestors: Ancestors): void => {
    if (node.tag === undefined || CORE_TAGS[node.tag]?.(value) === true) return;
    const start = startOf(node, ancestors.at(-1));
    const tag = document.warnings.findLast(({ pos }) => pos[0] < start)?.pos[0];
    fail(node, ancestors, 'the tag of this value is unknown or does not fit it: remove it', tag);
  };
  /** Checks a collection before its items are read. False when its items are dropped. */
  const enter = (node: YAMLMap | YAMLSeq, ancestors: Ancestors): boolean => {
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    checkTag(node, isSeq(node) ? [] : {}, ancestors);
    if (ancestors.filter((one) => isPair(one) || isSeq(one)).length < MAX_DEPTH) return true;
    fail(node, ancestors, 'lists and mappings are nested too deeply');
    node.items = [];
    return false;
  };

  visit(document, {
    Map(_key, node, ancestors) {
      if (!enter(node, ancestors)) return visit.SKIP;
      const names = new Set<string>();
      node.items = node.items.filter(({ key }) => {
        if (!isScalar(key) || typeof key.value !== 'string' || key.tag !== undefined) {
          fail(node, ancestors, 'a key must be plain text, without alias or tag');
          return false;
        }
        const message = keyProblem(key.value, names);
        names.add(key.value);
        if (message === undefined) return true;
        const path = [...pathOf(node, ancestors), key.value];
        problems.push({ offset: key.range?.[0] ?? 0, path, message });
        return false;
      });
      return undefined;
    },
    Seq: (_key, node, ancestors) => (enter(node, ancestors) ? undefined : visit.SKIP),
    Scalar(key, node, ancestors) {
      if (key === 'key') return;
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      const expansion = typeof node.value === 'string' ? expandPlaceholders(node.value, env) : undefined;
      if (expansion !== undefined && 'problem' in expansion) fail(node, ancestors, expansion.problem);
      else if (expansion?.replaced === true) {
        const isTyped = node.type === Scalar.PLAIN && node.tag === undefined;
        if (isTyped) texts.set(node, expansion.text);
        node.value = isTyped ? typed(document, expansion.text) : expansion.text;
      }
      if (!faulty.has(node)) checkTag(node, node.value, ancestors);
      if (faulty.has(node)) node.value = null;
    },
    Alias(_key, node, ancestors) {
      const target = anchors.get(node.source);
      if (target === undefined) fail(node, ancestors, 'no anchor of this name stands before the alias');
      else if (ancestors.includes(target)) fail(node, ancestors, 'the alias stands inside what it refers to');
      else if (targets.size < MAX_ALIASES) {
        targets.set(node, target);
        return undefined;
      } else if (!isTooMany) {
        isTooMany = true;
        fail(node, ancestors, TOO_MANY_ALIASES);
      }
      const nothing = new Scalar(null);
      nothing.range = node.range ?? null;
      faulty.add(nothing);
      return nothing;
    },
  });
  return { problems, faulty, texts, targets };
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

import { LineCounter, parseDocument } from 'yaml';
import type { Document } from 'yaml';
import { showPath } from '../fault.ts';
import type { Fault, Path } from '../fault.ts';
import type { Environment } from '../placeholders.ts';
import { Places } from './places.ts';
import { prepareDocument, TOO_MANY_ALIASES } from './prepareDocument.ts';
import { nestingProblem, syntaxProblems } from './syntaxProblems.ts';
import type { YamlProblem } from './syntaxProblems.ts';

/** Aliases of aliases can make a billion values out of a few lines. */
const MAX_ALIASED_VALUES = 10_000;

/** A file of YAML as plain values, with the places that they came from. */
export interface YamlFile {
  /** Mappings, lists and scalars of the file, null for what is at fault; undefined when it could not be read as YAML. */
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** A fault at a value, or at its key; where there is no such value, at the nearest one that should hold it. */
  fault(path: Path, message: string, at: 'key' | 'value'): Fault;
  /** True when the value, or one that holds it, is at fault already. */
  isFaulty(path: Path): boolean;
  /** For an unquoted value with placeholders: the text that it expanded to, before it was typed. */
  textAt(path: Path): string | undefined;
}

/** Reads YAML 1.2 (core schema) with placeholders replaced; everything at fault is told, not only the first. */
export function readYaml(source: { readonly path: string; readonly text: string }, env: Environment): YamlFile {
  const lines = new LineCounter();
  const faultAt = (offset: number, path: Path, message: string): Fault => {
    const { line, col } = lines.linePos(offset);
    return { file: source.path, line: Math.max(line, 1), column: Math.max(col, 1), path: showPath(path), message };
  };
  const unreadable = (...problems: readonly YamlProblem[]): YamlFile => ({
    value: undefined,
    faults: problems.map(({ offset, message }) => faultAt(offset, [], message)),
    fault: (path, message) => faultAt(0, path, message),
    isFaulty: () => true,
    textAt: () => undefined,
  });
  const tooDeep = nestingProblem(source.text, lines);
  if (tooDeep !== undefined) return unreadable(tooDeep);
  const document = parseDocument(source.text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    stringKeys: true,
    uniqueKeys: false,
    resolveKnownTags: false,
  });
  if (document.errors.length > 0) return unreadable(...syntaxProblems(document.errors, source.text, lines));
  const { explicit, version } = document.directives.yaml;
  if (explicit === true && version !== '1.2') {
    return unreadable({ offset: 0, message: 'the file must be YAML 1.2: remove the %YAML directive' });
  }
  if (document.contents === null || source.text.trim() === '') {
    return unreadable({ offset: 0, message: 'the file is empty: it needs "accounts" with at least one account' });
  }
  const prepared = prepareDocument(document, env);
  const faults = prepared.problems.map(({ offset, path, message }) => faultAt(offset, path, message));
  const value = plainValue(document);
  if (value === undefined) return unreadable({ offset: 0, message: TOO_MANY_ALIASES });
  const places = new Places(document, prepared.targets);
  return {
    value,
    faults,
    fault: (path, message, at) => {
      const found = places.on(path);
      const nearest = found.at(-1);
      const key = at === 'key' && found.length === path.length + 1 ? nearest?.key : undefined;
      return faultAt(key ?? nearest?.value ?? 0, path, message);
    },
    isFaulty: (path) => places.on(path).some(({ nodes }) => nodes.some((node) => prepared.faulty.has(node))),
    textAt: (path) => {
      const node = places.on(path)[path.length]?.nodes.at(-1);
      return node === undefined ? undefined : prepared.texts.get(node);
    },
  };
}

/** The plain values; undefined when the aliases stand for too many values: the library throws then. */
function plainValue(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASED_VALUES }) as unknown;
  } catch (error) {
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

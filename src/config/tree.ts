import { LineCounter, parseDocument } from 'yaml';
import type { Fault } from './fault.ts';
import type { Environment } from './placeholders.ts';
import { Places } from './places.ts';
import { TreeReader } from './treeReader.ts';
import { nestingProblem, syntaxProblems } from './yamlProblems.ts';
import type { YamlProblem } from './yamlProblems.ts';

export interface Tree {
  /** Mappings, lists and scalars of the file; undefined when it could not be read as YAML. */
  readonly value: unknown;
  readonly places: Places;
  readonly faults: readonly Fault[];
}

/** Reads YAML 1.2 (core schema) with placeholders replaced; everything at fault is told, not only the first. */
export function readTree(source: { readonly path: string; readonly text: string }, env: Environment): Tree {
  const lines = new LineCounter();
  const places = new Places(source.path, lines);
  const unreadable = (...problems: readonly YamlProblem[]): Tree => ({
    value: undefined,
    places,
    faults: problems.map(({ offset, message }) => places.faultAt(offset, [], message)),
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
  const reader = new TreeReader(document, places, env);
  const value = reader.read();
  return { value, places, faults: reader.faults };
}

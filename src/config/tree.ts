import { LineCounter, parseDocument } from 'yaml';
import type { Fault } from './fault.ts';
import type { Environment } from './placeholders.ts';
import { Places } from './places.ts';
import { TreeReader } from './treeReader.ts';
import { syntaxProblems } from './yamlProblems.ts';

export interface Tree {
  /** Mappings, lists and scalars of the file; undefined when it could not be read as YAML. */
  readonly value: unknown;
  readonly places: Places;
  readonly faults: readonly Fault[];
}

/** Reads YAML 1.2 (core schema) with placeholders replaced; everything at fault is told, not only the first. */
export function readTree(source: { readonly path: string; readonly text: string }, env: Environment): Tree {
  const lines = new LineCounter();
  const document = parseDocument(source.text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'silent',
    stringKeys: true,
    uniqueKeys: false,
    resolveKnownTags: false,
  });
  const places = new Places(source.path, lines);
  const unreadable = (faults: readonly Fault[]): Tree => ({ value: undefined, places, faults });
  if (document.errors.length > 0) {
    const problems = syntaxProblems(document.errors, source.text, lines);
    return unreadable(problems.map(({ offset, message }) => places.faultAt(offset, [], message)));
  }
  const { explicit, version } = document.directives.yaml;
  if (explicit === true && version !== '1.2') {
    return unreadable([places.faultAt(0, [], 'the file must be YAML 1.2: remove the %YAML directive')]);
  }
  if (document.contents === null || source.text.trim() === '') {
    return unreadable([places.faultAt(0, [], 'the file is empty: it needs "accounts" with at least one account')]);
  }
  const reader = new TreeReader(document, places, env);
  const value = reader.read();
  return { value, places, faults: reader.faults };
}

import { FamilyGroups } from './expositionGroups.ts';
import { parseSample, unescaped } from './expositionLine.ts';
import type { ParsedFamily } from './expositionModel.ts';
import { FormatError, decoded } from './expositionModel.ts';

export { samplesOf, value } from './expositionModel.ts';
export type { ParsedFamily } from './expositionModel.ts';

const METADATA = /^# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/s;
const HISTOGRAM_SUFFIXES = ['_bucket', '_sum', '_count'];

/**
 * Strict reader of text 0.0.4: HELP and TYPE before the samples, families in one piece, no comments or empty lines, no series
 * twice, known escapes only, a newline at the end. Throws a FormatError on any deviation; an empty body has no families.
 */
export function parseText(body: string | Uint8Array): ParsedFamily[] {
  const groups = new FamilyGroups(['HELP', 'TYPE'], (family, type) => {
    return type === 'histogram' ? HISTOGRAM_SUFFIXES.map((suffix) => family + suffix) : [family];
  });
  for (const [index, text] of linesOf(decoded(body)).entries()) {
    const line = index + 1;
    if (!text.startsWith('#')) {
      groups.sample(parseSample(text, line, /^-?\d+$/), line);
      continue;
    }
    const [kind, name, content] = metadataOf(text, line);
    if (kind === 'UNIT') throw new FormatError('UNIT is not of this format', line, text);
    if (kind === 'TYPE' && !['counter', 'gauge', 'histogram', 'summary', 'untyped'].includes(content)) {
      throw new FormatError('unknown type', line, text);
    }
    groups.metadata(kind, name, kind === 'HELP' ? unescaped(content, '\\n', line, text) : content, line);
  }
  return groups.families();
}

/** Strict reader of OpenMetrics 1.0.0: as `parseText`, with its order of metadata, units, counters, bounds and `# EOF`. */
export function parseOpenMetrics(body: string | Uint8Array): ParsedFamily[] {
  const groups = new FamilyGroups(['TYPE', 'UNIT', 'HELP'], (family, type) => {
    const suffixes: Record<string, readonly string[]> = {
      counter: ['_total', '_created'],
      histogram: [...HISTOGRAM_SUFFIXES, '_created'],
    };
    return (suffixes[type] ?? ['']).map((suffix) => family + suffix);
  });
  const lines = linesOf(decoded(body));
  if (lines.pop() !== '# EOF') throw new FormatError('the last line is not # EOF', lines.length + 1, '');
  for (const [index, text] of lines.entries()) {
    const line = index + 1;
    if (!text.startsWith('#')) {
      const sample = parseSample(text, line, /^-?\d+(?:\.\d+)?$/);
      if (/^-?\d+$/.test(sample.labels['le'] ?? '')) {
        throw new FormatError('bound is not written as a float', line, text);
      }
      groups.sample(sample, line);
      continue;
    }
    const [kind, name, content] = metadataOf(text, line);
    if (kind === 'HELP' && /(?<!\\)(?:\\\\)*"/.test(content)) throw new FormatError('quote in HELP', line, text);
    if (kind === 'UNIT' && !name.endsWith(`_${content}`)) {
      throw new FormatError('the name does not end in the unit', line, text);
    }
    if (kind === 'TYPE' && !['counter', 'gauge', 'histogram', 'summary', 'unknown'].includes(content)) {
      throw new FormatError('unknown type', line, text);
    }
    if (kind === 'TYPE' && content === 'counter' && name.endsWith('_total')) {
      throw new FormatError('counter family with _total', line, text);
    }
    groups.metadata(kind, name, kind === 'HELP' ? unescaped(content, '\\n"', line, text) : content, line);
  }
  const families = groups.families();
  checkClashes(families);
  return families;
}

function linesOf(body: string): string[] {
  if (body === '') return [];
  if (!body.endsWith('\n')) throw new FormatError('no newline at the end', 0, body.slice(-80));
  return body.slice(0, -1).split('\n');
}

function metadataOf(text: string, line: number): readonly ['HELP' | 'TYPE' | 'UNIT', string, string] {
  const match = METADATA.exec(text);
  const [, kind, name = '', content = ''] = match ?? [];
  if (kind !== 'HELP' && kind !== 'TYPE' && kind !== 'UNIT') {
    throw new FormatError('neither metadata nor sample', line, text);
  }
  return [kind, name, content];
}

/** No family may be named like a sample of another. */
function checkClashes(families: readonly ParsedFamily[]): void {
  const owners = new Map<string, string>();
  for (const { name, type, samples } of families) {
    for (const taken of new Set([
      name,
      ...(type === 'counter' ? [`${name}_total`] : []),
      ...samples.map((s) => s.name),
    ])) {
      const owner = owners.get(taken);
      if (owner !== undefined) throw new FormatError(`name of family ${owner} and of family ${name}`, 0, taken);
      owners.set(taken, name);
    }
  }
}

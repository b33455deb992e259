import type { ParsedSample } from './expositionModel.ts';
import { FormatError } from './expositionModel.ts';

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: (\S+))?$/s;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(,|$)/sy;
const NUMBER = /^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|NaN|[+-]Inf)$/;

/** Takes a sample line apart; `timestamps` says what a time must look like. */
export function parseSample(text: string, line: number, timestamps: RegExp): ParsedSample {
  const match = SAMPLE.exec(text);
  if (match === null) throw new FormatError('not a sample', line, text);
  const [, name = '', labels, number = '', timestamp] = match;
  if (!NUMBER.test(number)) throw new FormatError('not a number', line, text);
  if (timestamp !== undefined && !timestamps.test(timestamp)) throw new FormatError('not a timestamp', line, text);
  if (labels === '') throw new FormatError('empty braces', line, text);
  return {
    name,
    labels: labels === undefined ? {} : parseLabels(labels, line, text),
    value: Number(number.replace('Inf', 'Infinity')),
    timestamp: timestamp === undefined ? undefined : Number(timestamp),
  };
}

function parseLabels(labels: string, line: number, text: string): Record<string, string> {
  const found: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < labels.length) {
    const match = LABEL.exec(labels);
    if (match === null) throw new FormatError('bad label', line, text);
    const [, name = '', escaped = '', separator] = match;
    if (separator === ',' && LABEL.lastIndex === labels.length) {
      throw new FormatError('comma after the last label', line, text);
    }
    if (Object.hasOwn(found, name)) throw new FormatError(`label ${name} given twice`, line, text);
    found[name] = unescaped(escaped, '\\"n', line, text);
  }
  return found;
}

/** Undoes `\\`, `\n` and, where allowed, `\"`; anything else after a backslash is an error. */
export function unescaped(escaped: string, allowed: string, line: number, text: string): string {
  return escaped.replace(/\\(.?)/gs, (_, character: string) => {
    if (character === '' || !allowed.includes(character)) throw new FormatError(`escape \\${character}`, line, text);
    return character === 'n' ? '\n' : character;
  });
}

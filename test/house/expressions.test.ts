import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { analyse } from 'scslre';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const SOURCE = resolve(import.meta.dirname, '../../src');

/** More than the headers of a request, or a line of a configuration; a body of upstream is parsed before it is matched. */
const GREATEST_LENGTH = 100_000;

/** What hostile texts are made of: what our expressions look for, over and over, and never the end that they need. */
const UNITS = [
  '1',
  'a',
  'A',
  ' ',
  '\t',
  '\n',
  '/',
  '=',
  '%',
  '#',
  '_',
  '"',
  '{',
  '[',
  '${',
  '1a',
  '.1',
  ', a',
  'x=',
  '\ud800',
];

interface Expression {
  readonly where: string;
  readonly pattern: string;
  readonly flags: string;
}

const EXPRESSIONS: readonly Expression[] = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .flatMap((name) => expressionsOf(name, readFileSync(join(SOURCE, name), 'utf8')));

/** The regular expressions that are written in a file. */
function expressionsOf(name: string, text: string): Expression[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest);
  const found: Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      const where = `src/${name}:${line + 1} ${node.text}`;
      found.push({ where, pattern: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function isSuperLinear({ pattern, flags }: Pick<Expression, 'pattern' | 'flags'>): boolean {
  return analyse({ source: pattern, flags }).reports.length > 0;
}

describe('the regular expressions of src', () => {
  it('are looked at by something that knows a slow one', () => {
    expect(EXPRESSIONS.length).toBeGreaterThan(100);
    for (const pattern of ['\\d+\\.?\\d*x', '\\s*\\n\\s*', '\\/+$'])
      expect(isSuperLinear({ pattern, flags: '' })).toBe(true);
  });

  it.each(EXPRESSIONS)('take time in proportion to the text: $where', ({ pattern, flags }) => {
    expect(isSuperLinear({ pattern, flags })).toBe(false);
    const expression = new RegExp(pattern, flags);
    for (const unit of UNITS) {
      const hostile = unit.repeat(GREATEST_LENGTH / unit.length);
      expect(`${hostile}\u0000`.replace(expression, '').length).toBeLessThanOrEqual(hostile.length + 1);
    }
  });
});

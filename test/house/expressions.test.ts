import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { analyse } from 'scslre';
import ts from 'typescript';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** More than the headers of a request, or a line of a configuration; a body of upstream is parsed before it is matched. */
const GREATEST_LENGTH = 100_000;

/** What hostile texts are made of: what our expressions look for, over and over, and never the end that they need. */
const UNITS = [...'1 a A / = % # _ " { [ ${ 1a .1 x='.split(' '), ' ', '\t', '\n', ', a', '\ud800'];

interface Expression {
  readonly where: string;
  readonly pattern: string;
  readonly flags: string;
}

const EXPRESSIONS: readonly Expression[] = ['src', 'simulator'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => expressionsOf(join(folder, name), readFileSync(join(ROOT, folder, name), 'utf8'))),
);

/** The regular expressions that are written in a file. */
function expressionsOf(name: string, text: string): Expression[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest);
  const found: Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      const where = `${name}:${line + 1} ${node.text}`;
      found.push({ where, pattern: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const isSlow = (pattern: string, flags = ''): boolean => analyse({ source: pattern, flags }).reports.length > 0;

it('every regular expression takes linear time, by analysis and by trial', () => {
  expect(EXPRESSIONS.length).toBeGreaterThan(100);
  expect(['\\d+\\.?\\d*x', '\\s*\\n\\s*', '\\/+$'].every((pattern) => isSlow(pattern))).toBe(true);
  expect(EXPRESSIONS.filter(({ pattern, flags }) => isSlow(pattern, flags)).map(({ where }) => where)).toEqual([]);
  for (const { pattern, flags } of EXPRESSIONS) {
    const expression = new RegExp(pattern, flags);
    for (const unit of UNITS) `${unit.repeat(GREATEST_LENGTH / unit.length)}\u0000`.replace(expression, '');
  }
});

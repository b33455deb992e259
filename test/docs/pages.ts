import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A page written for people; `path` is relative to the root of the repository. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

const AT_ROOT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];

export const PAGES: readonly Page[] = [
  ...AT_ROOT,
  ...readdirSync(new URL('../../docs/', import.meta.url))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8') }));

export function pageAt(path: string): Page {
  const page = PAGES.find((each) => each.path === path);
  if (page === undefined) throw new Error(`there is no page ${path}`);
  return page;
}

/** The part of a page from a heading to the next heading of the same or a higher level. */
export function sectionOf({ path, text }: Page, heading: string): string {
  const start = text.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`${path} has no heading "${heading}"`);
  const body = text.slice(start + heading.length + 2);
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const end = body.search(new RegExp(`^#{1,${level}} `, 'm'));
  return end < 0 ? body : body.slice(0, end);
}

/** The blocks of code of a language, such as `yaml`. */
export function blocksOf(text: string, language: string): readonly string[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, found, block = '']) =>
    found === language ? [block] : [],
  );
}

/** The blocks of YAML of a page, also of those within a list, without their indentation. */
export function yamlBlocks(text: string): readonly string[] {
  return [...text.matchAll(/^( *)```yaml\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** The blocks of commands of a page, also of those within a list, without their indentation. */
export function shellBlocks(text: string): readonly string[] {
  return [...text.matchAll(/^( *)```sh\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** What stands between backticks within a line, blocks of code left out. */
export function codeSpansOf(text: string): readonly string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '');
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
}

/** A file for `promtool test rules`: what expressions give of these series. */
export function testFile(rule_files: readonly string[], input_series: object[], promql_expr_test: object[]) {
  const tests = [{ interval: '1m', input_series, promql_expr_test }];
  return { rule_files, evaluation_interval: '1m', tests };
}

/** The cells of all rows of the tables in a text, heads and rules left out. */
export function rowsOf(text: string): readonly (readonly string[])[] {
  const lines = text.split('\n');
  const isRow = (line: string | undefined): boolean => line?.startsWith('|') === true;
  const isRule = (line: string | undefined): boolean => line !== undefined && /^\|[\s|:-]+\|$/.test(line);
  return lines
    .filter((line, index) => isRow(line) && !isRule(line) && !isRule(lines[index + 1]))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

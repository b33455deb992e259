import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PAGES, pageAt, ROOT } from './pages.ts';

/** Documents that are not in this repository, or places in them, where a reader of a page cannot look. */
const OUTSIDE =
  /\bapi-facts\b|\bcontract(?:\.md| \d)|\bconventions(?:\.md| \d)|\bfindings\.md|\bpeers\.md|\bissue #?\d|\bsection \d|\bthe specification\b/i;

/** As GitHub makes the anchor of a heading. */
function anchorOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

function anchorsOf(path: string): ReadonlySet<string> {
  const prose = pageAt(path).text.replace(/^```[\s\S]*?^```$/gm, '');
  return new Set([...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)));
}

function linksOf(text: string): readonly string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
}

describe.each(PAGES)('$path', ({ path, text }) => {
  const ours = linksOf(text).filter((target) => !/^[a-z]+:/.test(target));

  test('links to files that exist', () => {
    const files = ours.map((target) => target.split('#')[0] ?? '').filter((file) => file !== '');
    const missing = files.filter((file) => !existsSync(join(ROOT, dirname(path), file)));
    expect(missing).toEqual([]);
  });

  test('links to headings that exist', () => {
    const missing = ours.filter((target) => {
      const [file = '', anchor] = target.split('#');
      const page = file === '' ? path : normalize(join(dirname(path), file));
      return anchor !== undefined && page.endsWith('.md') && !anchorsOf(page).has(anchor);
    });
    expect(missing).toEqual([]);
  });

  test('mentions no document that is not in the repository', () => {
    expect(text.split('\n').filter((line) => OUTSIDE.test(line))).toEqual([]);
  });
});

test('README links every page', () => {
  const linked = new Set(linksOf(pageAt('README.md').text).map((target) => target.split('#')[0]));
  expect(PAGES.map(({ path }) => path).filter((path) => path !== 'README.md' && !linked.has(path))).toEqual([]);
});

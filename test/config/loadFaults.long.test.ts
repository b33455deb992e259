import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configOf, faultsOf } from './reading.ts';

interface Case {
  readonly what: string;
  readonly text: string;
  readonly faults: readonly string[];
}

/** Reads the cases: `== what`, the lines of the file, and its faults as `-> line:column: path: message`. */
function readCases(): Case[] {
  const stored = readFileSync(new URL('faults.txt', import.meta.url), 'utf8');
  return stored.split(/^== /m).flatMap((block) => {
    const [what, ...lines] = block.trimEnd().split('\n');
    if (what === undefined || lines.length === 0) return [];
    const isFault = (line: string): boolean => line.startsWith('-> ');
    const text = lines.filter((line) => !isFault(line)).map((line) => `${line}\n`);
    return [{ what, text: text.join(''), faults: lines.filter(isFault).map((line) => `c.yaml:${line.slice(3)}`) }];
  });
}

describe('faults of a configuration', () => {
  it.each(readCases())('name their place and what to change: $what', ({ text, faults }) => {
    expect(faults.length).toBeGreaterThan(0);
    expect(faultsOf(text)).toEqual(faults);
  });

  it('are listed at most ten times with the same message, in the order of the file, then counted', () => {
    const keys = Array.from({ length: 500 }, (_, index) => `key_${String(index)}: 1\n`).join('');
    const faults = faultsOf(`accounts: [{api_key: abcd}]\n${keys}`);
    expect(faults).toHaveLength(11);
    expect(faults[9]).toMatch(/^c\.yaml:11:1: key_9: unknown key/);
    expect(faults[10]).toBe('c.yaml: 490 further faults like these: mend these first');
  });

  it.each([
    ['tags', '  - !foo x\n', 'the tag of this value is unknown'],
    ['aliases', '  - *none\n', 'no anchor of this name'],
    ['placeholders', '  - ${NOT_SET}\n', 'the environment variable NOT_SET is not set'],
    ['placeholders without an end', '  - ${A:-\n', '"${" must begin ${NAME}'],
    ['keys', '  - {a: 1, a: 2}\n', 'duplicate key'],
    ['lines', '  - "a" b\n', 'not expected here'],
  ])('of 30 kB of bad %s have the same messages as in a small file', (_, line, message) => {
    const faults = faultsOf(`accounts:\n${line.repeat(Math.floor(30_000 / line.length))}`);
    expect(faults.filter((fault) => fault.includes(message))).toHaveLength(10);
    expect(faults.at(-1)).toMatch(/further faults like these/);
  });

  const account = 'accounts:\n  - api_key: abcd\n';

  it.each([
    ['unknown keys', '', (n: number) => `k${n}: 1\n`, 'unknown key'],
    ['unknown keys of an account', account, (n: number) => `    k${n}: 1\n`, 'accounts[0].k0: unknown key'],
    ['accounts without keys', 'accounts:\n', () => '- {a: 1}\n', 'accounts[0].api_key: is required'],
    ['empty accounts', 'accounts:\n', () => '- {}\n', 'accounts[0].api_key: is required'],
    ['entries of another type', 'accounts:\n', () => '- 1\n', 'accounts[0]: expected a mapping'],
    [
      'unset variables',
      `${account}    query_packs:\n`,
      (n: number) => `    - \${A${n}}\n`,
      'query_packs[0]: the environment',
    ],
    [
      'unknown aliases',
      `${account}    query_packs:\n`,
      () => '    - *a\n',
      'query_packs[0]: a value that begins with *',
    ],
    ['unknown tags', `${account}    query_packs:\n`, () => '    - !a b\n', 'query_packs[0]: the tag of this value'],
    ['empty queries', `${account}    queries:\n`, () => '    - {}\n', 'queries[0].name: is required'],
    ['bad types', `${account}    entities:\n`, () => '    - {type: x}\n', 'entities[0].type: is not DOMAIN-TYPE'],
    [
      'bad ids',
      `${account}    include_accounts:\n`,
      () => '    - {id: a}\n',
      'include_accounts[0].id: expected a number',
    ],
  ])('are limited to a hundred and a count in a file of 2,000 %s', (_, head, line, first) => {
    const faults = faultsOf(head + Array.from({ length: 2_000 }, (_each, index) => line(index)).join(''));
    expect(faults.length).toBeLessThanOrEqual(101);
    expect(faults.join('\n')).toContain(first);
    expect(faults.at(-1)).toMatch(/^c\.yaml: [\d,]+ further faults like these: mend these first$/);
  });

  it.each([
    // As arguments of one call, 125,000 keys overflow the stack of Node.js, and so do the faults of 50,000 queries.
    ['125,000 unknown keys', Array.from({ length: 125_000 }, (_each, n) => `k${n}:\n`).join(''), 'unknown key'],
    [
      '70,000 empty queries',
      `${account}    queries:\n${'    - {}\n'.repeat(70_000)}`,
      'c.yaml:1:1: has more faults than',
    ],
  ])(
    'are found among %s',
    (_, text, fault) => {
      expect(faultsOf(text).join('\n')).toContain(fault);
    },
    60_000,
  );

  it.each([
    ['one long text of placeholders without an end', `a: "${'${A:-'.repeat(5_000)}"\n`],
    ['one long line of commas', `a: [${','.repeat(30_000)}]\n`],
    ['one long line of closing brackets', ']'.repeat(30_000)],
    ['one long line of colons', 'a: '.repeat(15_000)],
    ['one long line of anchors', '&a '.repeat(15_000)],
    [
      'a thousand aliases of the last of many anchors',
      `a: [${'x,'.repeat(10_000)}&b y]\nb: [${'*b,'.repeat(1_000)}]\n`,
    ],
    ['a long key with thousands of values', `a: {${'k'.repeat(20_000)}: [${'x,'.repeat(10_000)}]}\n`],
    ['thousands of unknown tags', `a: [${'!t 1,'.repeat(3_000)}]\n`],
    ['five thousand empty accounts', `accounts:\n${'  - {}\n'.repeat(5_000)}`],
  ])('are found within a moment in %s', (_, text) => {
    expect(faultsOf(text)).not.toEqual([]);
  });

  it.each([
    ...[51, 200, 5_000, 100_000].map((depth) => [`${depth} brackets`, `a: ${'['.repeat(depth)}${']'.repeat(depth)}\n`]),
    ['list marks on one line', '- '.repeat(400_000)],
    ['marks of keys on one line', '? '.repeat(400_000)],
    ['lists and brackets', `${'- '.repeat(60)}${'['.repeat(60)}`],
    ['indentation', Array.from({ length: 1_200 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join('')],
    ['lists in mappings', Array.from({ length: 400 }, (_, depth) => `${'    '.repeat(depth)}- a:\n`).join('')],
  ])('include deep nesting by %s, found before the text is parsed', (_, text = '') => {
    expect(faultsOf(text)).toEqual([expect.stringContaining('lists and mappings are nested too deeply')]);
  });

  it('include aliases that expand to too many values', () => {
    const levels = Array.from({ length: 9 }, (_, n) => `k${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]\n`);
    const faults = faultsOf(`k0: &a0 [x]\n${levels.join('')}`);
    expect(faults).toContainEqual(expect.stringContaining('the aliases stand for too many values'));
  });

  it('include too many aliases, reported once', () => {
    const faults = faultsOf(`accounts: &a x\nlist: [${'*a,'.repeat(20_000)}]\n`);
    expect(faults.filter((fault) => fault.includes('the aliases stand for too many values'))).toHaveLength(1);
    expect(faults.length).toBeLessThan(10);
  });

  it('include too many accounts, reported once', () => {
    const faults = faultsOf(`accounts:\n${'  - {}\n'.repeat(10_001)}`);
    expect(faults).toEqual([expect.stringContaining('accounts: has 10001 entries, and at most 10000 are read')]);
    expect(faultsOf(`accounts:\n${'  - {}\n'.repeat(20)}`)).not.toContainEqual(expect.stringContaining('at most'));
  });

  it('do not arise from an alias that hundreds of values use', () => {
    const others = Array.from({ length: 300 }, (_, n) => `  - {name: n${n}, api_key: abcd, limits: *l}\n`).join('');
    const text = `accounts:\n  - {name: first, api_key: abcd, limits: &l {max_retries: 5}}\n${others}`;
    expect(new Set(configOf(text).accounts.map(({ limits }) => limits.max_retries))).toEqual(new Set([5]));
  });
});

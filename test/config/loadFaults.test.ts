import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { faultsOf } from './reading.ts';

interface Case {
  readonly what: string;
  readonly text: string;
  readonly faults: readonly string[];
}

/** Cases as `== what`, the file's lines, and a line `-> line:column: path: message` for each fault. */
function readCases(): Case[] {
  const stored = readFileSync(new URL('faults.txt', import.meta.url), 'utf8');
  return stored.split(/^== /m).flatMap((block) => {
    const [what, ...lines] = block.trimEnd().split('\n');
    if (what === undefined || lines.length === 0) return [];
    const faults = lines.filter((line) => line.startsWith('-> ')).map((line) => `c.yaml:${line.slice(3)}`);
    const text = lines.slice(0, lines.length - faults.length);
    return [{ what, text: text.map((line) => `${line}\n`).join(''), faults }];
  });
}

const CASES = readCases();

describe('faults of a configuration', () => {
  it.each(CASES)('are told with their place and what to change: $what', ({ text, faults }) => {
    expect(faults.length).toBeGreaterThan(0);
    expect(faultsOf(text)).toEqual(faults);
  });

  it('have at least a hundred cases here', () => {
    expect(CASES.length).toBeGreaterThanOrEqual(100);
  });

  it('are told all at once, in the order of the file', () => {
    const text = CASES.filter(({ what }) => what.startsWith('everything at once'));
    expect(text).toHaveLength(1);
    expect(text[0]?.faults.length).toBeGreaterThan(15);
  });

  it('are told of every key of a large file within a moment', () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `key_${String(index)}: 1\n`).join('');
    expect(faultsOf(`accounts: [{api_key: abcd}]\n${keys}`)).toHaveLength(5_000);
  });

  it('include values nested beyond any sense, at every depth', () => {
    for (const depth of [51, 200, 1_000, 5_000, 100_000]) {
      const faults = faultsOf(`accounts: ${'['.repeat(depth)}${']'.repeat(depth)}\n`);
      expect(faults).toContainEqual(expect.stringContaining('lists and mappings are nested too deeply'));
    }
  });

  it('include aliases that stand for too many values', () => {
    const levels = Array.from(
      { length: 9 },
      (_, n) => `k${String(n + 1)}: &a${String(n + 1)} [${`*a${String(n)},`.repeat(9)}]\n`,
    );
    const faults = faultsOf(`k0: &a0 [x]\n${levels.join('')}`);
    expect(faults).toContainEqual(expect.stringContaining('the aliases stand for too many values'));
  });

  it('include more aliases than a configuration needs, told once', () => {
    const faults = faultsOf(`accounts: &a x\nlist: [${'*a,'.repeat(20_000)}]\n`);
    expect(faults.filter((fault) => fault.includes('the aliases stand for too many values'))).toHaveLength(1);
    expect(faults.length).toBeLessThan(10);
  });

  it('do not come from an alias that hundreds of values use', () => {
    const accounts = Array.from({ length: 300 }, (_, n) => `  - {name: n${String(n)}, api_key: abcd, limits: *l}\n`);
    expect(
      faultsOf(`accounts:\n  - {name: first, api_key: abcd, limits: &l {max_retries: 5}}\n${accounts.join('')}`),
    ).toEqual([]);
  });
});

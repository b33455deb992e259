import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { GENERATED_FILES } from '../../scripts/generate.ts';
import { editorSchema } from '../../scripts/generate/editorSchema.ts';
import { stalePaths } from '../../scripts/generate/generatedFile.ts';
import { keysOf } from '../../scripts/generate/schemaKeys.ts';
import { fileSchema } from '../../src/config/schema/file.ts';
import { toInputSchema } from '../../src/config/schemaIssues.ts';
import type { JsonSchema } from '../../src/config/schemaIssues.ts';
import { configOf, withAccount } from './reading.ts';

const ROOT = new URL('../../', import.meta.url);
const example = readFileSync(new URL('config.example.yaml', ROOT), 'utf8');
const page = readFileSync(new URL('docs/configuration.md', ROOT), 'utf8');
const ENV = { NEW_RELIC_API_KEY: 'abcd' };

/** The names of the keys on every level. */
function allKeys(schema: JsonSchema): string[] {
  const inner = [
    schema,
    ...(schema.anyOf ?? []),
    ...(typeof schema.items === 'object' && !Array.isArray(schema.items) ? [schema.items] : []),
  ];
  return inner.flatMap((part) => keysOf(part).flatMap(({ name, schema: below }) => [name, ...allKeys(below)]));
}

describe('the files generated from the schema', () => {
  it('are up to date; if not, run "npm run generate"', async () => {
    expect(await stalePaths(GENERATED_FILES, (path) => readFile(new URL(path, ROOT), 'utf8'))).toEqual([]);
  });

  it('are stale when a file is missing or differs', async () => {
    const file = { path: 'a', content: () => Promise.resolve('new') };
    expect(await stalePaths([file], () => Promise.resolve('new'))).toEqual([]);
    expect(await stalePaths([file], () => Promise.resolve('old'))).toEqual(['a']);
    expect(await stalePaths([file], () => Promise.reject(new Error('missing')))).toEqual(['a']);
  });

  it('name every key in the reference page and in the example', () => {
    const keys = new Set(allKeys(toInputSchema(fileSchema)));
    expect(keys.size).toBeGreaterThan(40);
    for (const key of keys) {
      expect(page).toMatch(new RegExp(`(^\\| |\`)\`?${key}\`?`, 'm'));
      expect(example).toMatch(new RegExp(`^[ #-]*${key}:`, 'm'));
    }
  });
});

test('the reference page explains every placeholder that it uses', () => {
  const [head = '', keys = ''] = page.split('\n## The file\n');
  const used = [...keys.matchAll(/<[A-Za-z_-]+>/g)].map(([placeholder]) => placeholder);
  expect(used.filter((placeholder) => !head.includes(`\n- \`${placeholder}\``))).toEqual([]);
});

describe('the example file', () => {
  it('is valid, and equals the defaults except for the name of the account', () => {
    const { accounts, collection } = configOf(example, ENV);
    const plain = configOf(withAccount());
    expect(collection).toStrictEqual(plain.collection);
    expect(accounts).toStrictEqual([{ ...plain.accounts[0], name: 'production' }]);
  });
});

describe('the JSON Schema for editors', () => {
  // Strict mode refuses keywords that JSON Schema does not have.
  const validate = new Ajv({ strict: true, allErrors: true }).compile(editorSchema(toInputSchema(fileSchema)));
  const violations = (text: string): string[] => {
    validate(parse(text));
    return (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
  };

  it('accepts the example file with its placeholders', () => {
    expect(violations(example)).toEqual([]);
  });

  it.each([
    ['a placeholder for a number', 'limits: {max_retries: "${R}"}'],
    ['a placeholder for a choice', 'region: "${R}"'],
    ['a placeholder for true or false', 'hosts: "${H:-true}"'],
    ['chosen key transactions', 'key_transactions: {include: [{name: a}]}'],
  ])('accepts %s', (_what, keys) => {
    expect(violations(withAccount(keys))).toEqual([]);
  });

  it.each([
    ['an unknown key', withAccount('regoin: us'), '/accounts/0 additionalProperties'],
    ['an unknown region', withAccount('region: mars'), '/accounts/0/region enum'],
    ['a number as a duration', withAccount('', 'collection: {window: 30}'), '/collection/window type'],
    ['a duration without a unit', withAccount('', 'collection: {window: "30"}'), '/collection/window pattern'],
    ['a number out of range', withAccount('limits: {max_retries: 11}'), '/accounts/0/limits/max_retries maximum'],
    ['no accounts', '{}', ' required'],
  ])('refuses %s, as the program does', (_what, text, violation) => {
    expect(violations(text)).toContain(violation);
    expect(() => configOf(text)).toThrow('c.yaml:');
  });
});

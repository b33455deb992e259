import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ListedAccount } from '../../src/api/upstreamReader.ts';
import { expandAccounts } from '../../src/collect/accounts/expandAccounts.ts';
import type { AccountConfig } from '../../src/config/config.ts';
import { writeLabelValue } from '../../src/metrics/writeSamples.ts';
import { configOf } from '../config/reading.ts';

/** The accounts of a file with these lines. */
function file(...entries: readonly string[]): readonly AccountConfig[] {
  return configOf(`accounts:\n${entries.map((entry) => `  - {api_key: abcd, ${entry}}\n`).join('')}`).accounts;
}

function listOf(...names: readonly string[]): ListedAccount[] {
  return names.map((name, index) => ({ id: index + 1, name }));
}

/** The names of an entry's accounts, for a list of these names; the numbers count from 1. */
function namesOf(names: readonly string[], keys = 'account_ids: all'): string[] {
  return expandAccounts(file(keys), new Map([['entry-1', listOf(...names)]]), []).accounts.map(({ name }) => name);
}

describe('the names of the accounts of a list', () => {
  it.each([
    ['are the names in New Relic', ['Shop', 'Pay'], ['Shop', 'Pay']],
    ['have spaces in place of control characters', ['a\nb\u0000\u009fc'], ['a b  c']],
    ['are the number where New Relic has no name', ['', ' \n', 'x'], ['(1)', '(2)', 'x']],
    ['all include the number where they repeat', ['A', 'B', 'A'], ['A (1)', 'B', 'A (3)']],
    ['include the number twice where that collides too', ['A', 'A', 'A (1)'], ['A (1) (1)', 'A (2)', 'A (1) (3)']],
    ['include the number where the entry itself has the name', ['entry-1'], ['entry-1 (1)']],
    ['differ where only a lone surrogate differs', ['a\ud800', 'a\ud801'], ['a\ufffd (1)', 'a\ufffd (2)']],
  ])('%s', (_, names, labels) => {
    expect(namesOf(names)).toEqual(labels);
  });

  it('include the number where the file has the same name', () => {
    const accounts = file('name: Shop, account_id: 9', 'name: Org, account_ids: all');
    const { accounts: all } = expandAccounts(accounts, new Map([['Org', listOf('Shop', 'Org', 'x')]]), []);
    expect(all.map(({ name, account_id }) => [name, account_id])).toEqual([
      ['Shop', 9],
      ['Shop (1)', 1],
      ['Org (2)', 2],
      ['x', 3],
    ]);
  });

  it('are distinct labels of at most 1,024 bytes, whatever the names in New Relic', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('', 'A', 'A (1)', 'A (2)', 'A (1) (1)', '(1)', 'entry-1', '"\\{}', '\u202e', '__proto__'),
      fc.constantFrom('x'.repeat(10_000), `${'x'.repeat(10_000)}y`, '€'.repeat(500)),
    );
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 12 }), fc.array(hostile, { maxLength: 12 }), (names, later) => {
        const entries = file('account_ids: all');
        const first = expandAccounts(entries, new Map([['entry-1', listOf(...names)]]), []);
        const list = listOf(...names).concat(later.map((name, index) => ({ id: 100 + index, name })));
        const second = expandAccounts(entries, new Map([['entry-1', list]]), first.accounts);
        for (const { accounts } of [first, second]) {
          const written = accounts.map(({ name }) => writeLabelValue(name));
          expect(new Set(written).size).toBe(accounts.length);
          expect(written).not.toContain('');
          expect(written).not.toContain('entry-1');
          for (const { name } of accounts) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(1024);
        }
        // An account keeps its name and its configuration object when other accounts come.
        expect(second.accounts.slice(0, names.length)).toEqual(first.accounts);
        for (const [index, account] of first.accounts.entries()) expect(second.accounts[index]).toBe(account);
      }),
    );
  });

  it('change only with the names in New Relic', () => {
    const entries = file('account_ids: all');
    const expand = (list: readonly ListedAccount[], before: readonly AccountConfig[]): readonly AccountConfig[] =>
      expandAccounts(entries, new Map([['entry-1', list]]), before).accounts;
    const both = expand(listOf('A', 'A'), []);
    const alone = expand([{ id: 2, name: 'A' }], both);
    expect(alone.map(({ name }) => name)).toEqual(['A (2)']);
    expect(expand([{ id: 2, name: 'B' }], alone).map(({ name }) => name)).toEqual(['B']);
    // After a reload the name is free.
    expect(expand([{ id: 2, name: 'A' }], []).map(({ name }) => name)).toEqual(['A']);
  });
});

describe('the selection of accounts from a list', () => {
  it.each([
    ['all', 'account_ids: all', ['a', 'b', 'ab', 'B']],
    ['numbers', 'account_ids: [3, 1, 7]', ['a', 'ab']],
    ['globs and numbers', 'account_ids: all, include_accounts: [{name: "a*"}, {id: 4}]', ['a', 'ab', 'B']],
    ['exceptions', 'account_ids: all, include_accounts: [{name: "a*"}], exclude_accounts: [{id: 1}]', ['ab']],
    ['a maximum, the lowest numbers', 'account_ids: all, max_accounts: 2', ['a', 'b']],
  ])('is by %s', (_, keys, names) => {
    expect(namesOf(['a', 'b', 'ab', 'B'], keys)).toEqual(names);
  });

  it('uses the name in New Relic, not the label', () => {
    expect(namesOf(['a\nb', 'A', 'A'], 'account_ids: all, exclude_accounts: [{name: "a b"}, {name: "A (2)"}]')).toEqual(
      ['a b', 'A (2)', 'A (3)'],
    );
  });

  it('prefers accounts that are already exported, and reports the dropped accounts', () => {
    const entries = file('account_ids: all, max_accounts: 2');
    const first = expandAccounts(
      entries,
      new Map([
        [
          'entry-1',
          [
            { id: 5, name: 'five' },
            { id: 6, name: 'six' },
          ],
        ],
      ]),
      [],
    );
    const list = [1, 5, 6].map((id) => ({ id, name: `a${id}` }));
    const second = expandAccounts(entries, new Map([['entry-1', list]]), first.accounts);
    expect(second.accounts.map(({ account_id }) => account_id)).toEqual([5, 6]);
    expect(second.entries.get('entry-1')).toMatchObject({
      verdicts: [
        { id: 1, why: 'beyond max_accounts (2)' },
        { id: 5, exportedAs: 'a5' },
        { id: 6, exportedAs: 'a6' },
      ],
      warnings: ['max_accounts: 1 account beyond 2 is left out: raise it, or choose with include_accounts'],
    });
    expect(
      expandAccounts(entries, new Map([['entry-1', list]]), []).accounts.map(({ account_id }) => account_id),
    ).toEqual([1, 5]);
  });

  it('leaves an account to the file that names it, or to the first entry that selects it', () => {
    const accounts = file(
      'name: first, account_ids: all, exclude_accounts: [{id: 3}]',
      'name: second, account_ids: all',
      'name: own, account_id: 1',
      'name: other, account_id: 2, region: eu',
    );
    const { accounts: all, entries } = expandAccounts(
      accounts,
      new Map([
        ['first', listOf('a', 'b', 'c')],
        ['second', listOf('a', 'b', 'c')],
      ]),
      [],
    );
    expect(all.map(({ name, origin }) => [name, origin?.entry])).toEqual([
      ['b', 'first'],
      ['c', 'second'],
      ['own', undefined],
      ['other', undefined],
    ]);
    expect(entries.get('first')?.warnings).toEqual([
      'account 1: read by account own of the file already, and only there',
    ]);
    expect(entries.get('second')?.warnings).toEqual([
      'account 1 and 1 more: read by account own of the file already, and only there',
    ]);
  });

  it.each([
    ['a number that the key does not see', 'account_ids: [1, 9]', /^account_ids: the key does not list account 9: /],
    [
      'a name that no account has',
      'account_ids: all, include_accounts: [{name: a}, {name: z}]',
      /^include_accounts: .*"z"/,
    ],
    ['filters that leave nothing', 'account_ids: all, exclude_accounts: [{name: "*"}]', /leave none of 1 account: /],
  ])('warns of %s', (_, keys, warning) => {
    const { entries } = expandAccounts(file(keys), new Map([['entry-1', listOf('a')]]), []);
    expect(entries.get('entry-1')?.warnings).toEqual([expect.stringMatching(warning)]);
  });

  it('warns of an empty list, but not before the first list', () => {
    const entries = file('account_ids: all');
    expect(expandAccounts(entries, new Map([['entry-1', []]]), []).entries.get('entry-1')?.warnings).toEqual([
      expect.stringMatching(/^the key lists no account: /),
    ]);
    expect(expandAccounts(entries, new Map(), [])).toEqual({ accounts: [], entries: new Map() });
  });
});

import { describe, expect, it } from 'vitest';
import { bothInterfaces } from '../../../src/cli/compare/compare.ts';
import { UsageError } from '../../../src/cli/process.ts';
import { configOf } from '../../config/reading.ts';

const ONE = configOf('accounts: [{name: one, api_key: abcd, account_id: 5}]\n');
const TWO = configOf('accounts: [{name: one, api_key: abcd}, {name: two, api: nerdgraph, api_key: efgh}]\n');

describe('what compare reads', () => {
  it('is the only account twice, over REST first, with values that are not rounded', () => {
    const { accounts, collection } = bothInterfaces(ONE, { account: undefined, accountId: undefined });
    expect(accounts.map(({ name, api, account_id }) => [name, api, account_id])).toEqual([
      ['one', 'rest', 5],
      ['one', 'nerdgraph', 5],
    ]);
    expect([ONE.collection.raw_values, collection.raw_values]).toEqual([false, true]);
  });

  it('is the account of the number on the command line, whatever the configuration says', () => {
    const { accounts } = bothInterfaces(ONE, { account: 'one', accountId: 7 });
    expect(accounts.map(({ account_id }) => account_id)).toEqual([7, 7]);
  });

  it('is the account that is named where there are several', () => {
    const { accounts } = bothInterfaces(TWO, { account: 'two', accountId: undefined });
    expect(accounts.map(({ name, api, api_key }) => [name, api, api_key])).toEqual([
      ['two', 'rest', 'efgh'],
      ['two', 'nerdgraph', 'efgh'],
    ]);
  });

  it.each([
    [undefined, 'there are several accounts (one, two): say which with --account'],
    ['three', 'there is no account "three": the accounts are one, two'],
  ])('is wrong usage with the account %s where it is not clear which is meant', (account, sentence) => {
    expect(() => bothInterfaces(TWO, { account, accountId: undefined })).toThrow(new UsageError(sentence));
  });
});

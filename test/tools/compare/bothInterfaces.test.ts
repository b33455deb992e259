import { expect, it } from 'vitest';
import { configureBothInterfaces } from '../../../src/tools/compare/compare.ts';
import { configOf } from '../../config/reading.ts';

const ONE = configOf('accounts: [{name: one, api: rest, api_key: abcd, account_id: 5}]\n');

it('compare reads the only account over REST, then over NerdGraph, with unrounded values', () => {
  const { accounts, collection } = configureBothInterfaces(ONE, undefined);
  expect(accounts.map(({ name, api, account_id }) => [name, api, account_id])).toEqual([
    ['one', 'rest', 5],
    ['one', 'nerdgraph', 5],
  ]);
  expect([ONE.collection.raw_values, collection.raw_values]).toEqual([false, true]);
});

it('compare prefers the account number of the command line', () => {
  expect(configureBothInterfaces(ONE, 7).accounts).toMatchObject([{ account_id: 7 }, { account_id: 7 }]);
});

import { describe, expect, it } from 'vitest';
import type { ServerResponse } from 'node:http';
import { json } from '../support/testServer.ts';
import { failureOf } from '../support/reading.ts';
import { ACCOUNT } from './nerdGraphReading.ts';
import { startBetween } from './proxy.ts';

const WORLD = { applications: 1, hostsPerApplication: 1, keyTransactions: 0 };
const SHOP = { id: 7, name: 'Shop' };

const listing =
  (accounts: unknown) =>
  (response: ServerResponse, { text }: { readonly text: string }): boolean => {
    if (!text.includes('accounts')) return false;
    json(response, { data: { actor: { accounts } } });
    return true;
  };

describe('the list of accounts', () => {
  it.each([
    ['is null', null],
    ['has a null id', { id: null, name: 'Pay' }],
    ['has an id that is a text', { id: '8', name: 'Pay' }],
    ['has no id', { name: 'Pay' }],
    ['has a negative id', { id: -8, name: 'Pay' }],
    ['is a list', []],
    ['is a text', 'Pay'],
  ])('without a readable member that %s has the other accounts, and reports the failure', async (_, member) => {
    const between = await startBetween(WORLD, { isListed: true });
    between.fault = listing([member, SHOP]);
    const { accounts, unreadable, problem } = (await between.reader.listAccounts?.(between.call))!;
    expect([accounts, unreadable]).toEqual([[SHOP], 1]);
    expect(problem).toMatch(/^the list of accounts cannot be read whole: left out 1 bad record/);
    expect(between.notes.failures).toEqual([
      { reason: 'invalid_response', message: expect.stringContaining('left out 1 bad record') as string },
    ]);
  });

  it('with a name that is not text has this account, and reports the failure', async () => {
    const between = await startBetween(WORLD);
    between.fault = listing([{ id: 8, name: 7 }, SHOP]);
    const found = await between.reader.listAccounts?.(between.call);
    expect(found).toMatchObject({ accounts: [{ id: 8, name: '' }, SHOP], unreadable: 0 });
    expect(found?.problem).toContain('1 bad value');
  });

  it('with a null name is whole, and has each account once', async () => {
    const between = await startBetween(WORLD);
    between.fault = listing([{ id: 8, name: null }, SHOP, SHOP]);
    const accounts = [{ id: 8, name: '' }, SHOP];
    expect(await between.reader.listAccounts?.(between.call)).toEqual({ accounts, unreadable: 0, problem: undefined });
  });

  it('without any readable member is a failure', async () => {
    const between = await startBetween(WORLD);
    between.fault = listing([null, { id: 0 }]);
    const { failure, message } = await failureOf(between.reader.listAccounts!(between.call));
    expect(failure.reason).toBe('invalid_response');
    expect(message).toContain('none of the 2 records in "accounts" can be read');
  });
});

describe('an account whose number is looked up', () => {
  it('is not taken from a list with an unreadable member, which may be a second account', async () => {
    const between = await startBetween(WORLD, { accountId: undefined });
    between.fault = listing([null, SHOP]);
    const { message } = await failureOf(between.reader.listApplications({}, between.call));
    expect(message).toContain('the key sees 2 accounts, set account_id to one of them');
  });

  it('is not called missing when the list cannot be read whole', async () => {
    const between = await startBetween({ ...WORLD, applications: 0 }, { accountId: ACCOUNT });
    between.fault = listing([null, SHOP]);
    expect(await between.reader.listApplications({}, between.call)).toEqual([]);
    const range = { from: 0, to: 60 };
    expect((await between.reader.diagnose(range, between.call)).warnings).toEqual([]);
  });
});

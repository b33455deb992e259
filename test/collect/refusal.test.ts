import { describe, expect, it } from 'vitest';
import { UpstreamError, type FailureReason } from '../../src/api/types.ts';
import { Inventory } from '../../src/collect/inventory.ts';
import { Refusal } from '../../src/collect/refreshes.ts';
import { accountConfig, collectionConfig } from './support/config.ts';
import { FakeReader } from './support/fakeReader.ts';
import { VirtualClock } from './support/virtualClock.ts';

const failure = (reason: FailureReason, words = `${reason} in words`): UpstreamError =>
  new UpstreamError(words, { reason, endpoint: '/applications.json', status: undefined });

/** A refusal with what it told, and an attempt to read one of the lists. */
function refusal() {
  const told: (string | undefined)[] = [];
  const decided = new Refusal((reason) => void told.push(reason));
  const context = {
    account: accountConfig(),
    collection: collectionConfig(),
    reader: new FakeReader(new VirtualClock()),
    customMetrics: [],
  };
  const lists = new Inventory(
    context,
    () => 0,
    () => undefined,
  );
  const attempt = (isApplicationList: boolean, from: number, to: number, error?: unknown): boolean => {
    const entity = isApplicationList ? lists.applicationList : lists.keyTransactionList;
    entity.begin(from);
    return decided.note(entity, isApplicationList, error, to);
  };
  return { decided, told, attempt };
}

describe('an account', () => {
  it.each([
    ['a 401 on the application list', true, failure('auth'), true],
    ['a 401 on anything else', false, failure('auth'), true],
    ['a 403 on the application list', true, failure('forbidden'), true],
    ['a 403 on anything else', false, failure('forbidden'), false],
    ['another failure of the application list', true, failure('server'), false],
    ['an error of ours', true, new Error('auth'), false],
  ] as const)('with %s: refused is told as it is', (_, isApplicationList, error, refused) => {
    const { decided, told, attempt } = refusal();
    expect(attempt(isApplicationList, 1, 2, error)).toBe(refused);
    expect(decided.reason).toBe(refused ? error.message : undefined);
    expect(told).toEqual(refused ? [error.message] : []);
  });

  it('is accepted again by its application list only, and each change is told once', () => {
    const { decided, told, attempt } = refusal();
    attempt(true, 1, 2, failure('auth'));
    attempt(true, 3, 4, failure('auth'));
    attempt(false, 5, 6);
    attempt(true, 7, 8, failure('server'));
    expect(decided.reason).toBe('auth in words');
    attempt(true, 9, 10);
    expect(decided.reason).toBeUndefined();
    expect(told).toEqual(['auth in words', undefined]);
  });

  it('is not refused by answers to calls made before it was accepted', () => {
    const { decided, attempt } = refusal();
    attempt(true, 1, 2, failure('auth'));
    attempt(true, 4, 6);
    expect(attempt(false, 5, 7, failure('auth'))).toBe(false);
    expect(decided.reason).toBeUndefined();
    expect(attempt(false, 6, 8, failure('auth'))).toBe(true);
  });

  it('is accepted by a call made after it was refused, although it was refused in other words meanwhile', () => {
    const { decided, told, attempt } = refusal();
    attempt(true, 1, 2, failure('auth', 'first'));
    attempt(false, 3, 9, failure('auth', 'second'));
    attempt(true, 5, 10);
    expect(decided.reason).toBeUndefined();
    expect(told).toEqual(['first', 'second', undefined]);
  });

  it('with another key is not refused by answers to calls made with the old one', () => {
    const { decided, told, attempt } = refusal();
    decided.lift(5);
    expect(attempt(true, 4, 6, failure('auth'))).toBe(false);
    expect(attempt(true, 5, 7, failure('auth'))).toBe(true);
    decided.lift(8);
    expect(decided.reason).toBeUndefined();
    expect(told).toEqual(['auth in words', undefined]);
  });
});

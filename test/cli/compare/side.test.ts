import { expect, it } from 'vitest';
import { UpstreamError } from '../../../src/api/types.ts';
import { readSide } from '../../../src/cli/compare/sides.ts';
import { application, keyTransaction } from '../../collect/support/bodies.ts';
import { accountConfig } from '../../collect/support/config.ts';
import { FakeReader } from '../../collect/support/fakeReader.ts';
import { VirtualClock } from '../../collect/support/virtualClock.ts';

it('a side of which one key transaction cannot be read is no side to compare, unless key transactions are off', async () => {
  const clock = new VirtualClock();
  const reader = new FakeReader(clock);
  const unread = new UpstreamError('the application of the key transaction cannot be read', {
    reason: 'server',
    endpoint: '/applications/{id}.json',
  });
  reader.applications = [application(1)];
  reader.keyTransactions = [keyTransaction(8, 1), { ...keyTransaction(9, 1), unread }];
  const call = {
    signal: new AbortController().signal,
    gate: { enter: () => Promise.resolve(() => undefined) },
  };
  const side = (key_transactions: boolean) => {
    const config = accountConfig({ key_transactions });
    const account = { config, reader, call, close: () => Promise.resolve() };
    return readSide(account, reader.applications, { window: { from: 0, to: 1_800 }, hosts: false });
  };
  await expect(clock.run(side(true))).rejects.toBe(unread);
  const { series } = await clock.run(side(false));
  expect(series.map(({ family }) => family).filter((family) => family.includes('key_transaction'))).toEqual([]);
  expect(series.length).toBeGreaterThan(0);
});

import { expect, it } from 'vitest';
import { UpstreamError } from '../../../src/api/upstreamError.ts';
import { readSide } from '../../../src/tools/compare/sides.ts';
import type { KeyTransaction } from '../../../src/api/types.ts';
import { application, keyTransaction } from '../../collect/support/bodies.ts';
import { accountConfig } from '../../collect/support/config.ts';
import { FakeReader } from '../../collect/support/fakeReader.ts';
import { VirtualClock } from '../../collect/support/virtualClock.ts';
import { FREE_CALL } from '../upstream/support.ts';

it('a side of which one chosen key transaction cannot be read is no side to compare', async () => {
  const clock = new VirtualClock();
  const reader = new FakeReader(clock);
  const unread = new UpstreamError('the application of the key transaction cannot be read', { reason: 'server' });
  reader.applications = [application(1)];
  reader.keyTransactions = [keyTransaction(8, 1), { ...keyTransaction(9, 1), unread }];
  const account = { config: accountConfig(), reader, call: FREE_CALL, close: () => Promise.resolve() };
  const side = (keyTransactions: readonly KeyTransaction[]) =>
    readSide(
      account,
      { applications: reader.applications, alone: [], keyTransactions },
      { window: { from: 0, to: 1_800 }, hosts: false, database: () => 'auto' },
    );
  await expect(clock.run(side(reader.keyTransactions))).rejects.toBe(unread);
  const { series, entities } = await clock.run(side(reader.keyTransactions.slice(0, 1)));
  expect(series.filter(({ family }) => family.name === 'newrelic_key_transaction_info')).toHaveLength(1);
  expect(entities).toEqual(['["application","1"]', '["key transaction","8"]']);
});

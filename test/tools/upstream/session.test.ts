import { setMaxListeners } from 'node:events';
import { expect, it } from 'vitest';
import type { Api } from '../../../src/api/upstreamReader.ts';
import { openAccounts } from '../../../src/tools/upstream/session.ts';
import { accountConfig, collectionConfig } from '../../collect/support/config.ts';
import { FakeReader } from '../../collect/support/fakeReader.ts';
import { VirtualClock } from '../../collect/support/virtualClock.ts';

it.each<[string, Api, readonly string[], number]>([
  ['make at most 25 calls at once with one key', 'nerdgraph', ['same', 'same', 'same'], 25],
  ['share the 25 calls also with different keys, which may belong to one user', 'nerdgraph', ['one', 'two'], 25],
  ['each have their own limit over REST', 'rest', ['same', 'same', 'same'], 60],
])('the accounts of a command %s', async (_, api, keys, most) => {
  const clock = new VirtualClock();
  const accounts = keys.map((key, index) =>
    accountConfig({
      ...{ name: `account ${index}`, api, api_key: key },
      limits: { max_concurrent_requests: 20, requests_per_minute: 3_000 },
    }),
  );
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const opened = openAccounts({
    config: { accounts, collection: collectionConfig() },
    signal,
    openReader: ({ api_key: key }) => ({
      reader: new FakeReader(clock, api === 'rest' ? undefined : { api, perCall: 1 }),
      keyMark: () => key ?? '',
    }),
  });
  const releases: (() => void)[] = [];
  for (const { limiter } of opened) {
    for (let count = 0; count < 30; count += 1) {
      void limiter.acquire(signal).then((release) => releases.push(() => release(true)));
    }
  }
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  await settled();
  expect(releases).toHaveLength(most);
  releases[0]?.();
  await settled();
  expect(releases).toHaveLength(most + 1);
});

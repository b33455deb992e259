import { describe, expect, it } from 'vitest';
import type { ListedAccount } from '../../src/api/upstreamReader.ts';
import type { AccountConfig } from '../../src/config/config.ts';
import { findUnmatchedExclusions } from '../../src/collect/serve/accountWarnings.ts';
import { application } from './support/bodies.ts';
import { accountConfig, collectionConfig, config } from './support/config.ts';
import type { FakeReader } from './support/fakeReader.ts';
import { EVERYTHING, NERDGRAPH, World } from './support/world.ts';

const COLLECTION = collectionConfig({ intervals: { accounts: 60_000 } });

function entry(over: Parameters<typeof accountConfig>[0] = {}): AccountConfig {
  return accountConfig({ name: 'org', api: 'nerdgraph', account_ids: 'all', max_accounts: 100, hosts: false, ...over });
}

/** An entry whose key sees these accounts; each has one application. */
function organisation(accounts: readonly ListedAccount[], over: Parameters<typeof entry>[0] = {}): World {
  const world = new World([entry(over)], COLLECTION, NERDGRAPH);
  world.reader.accounts = accounts;
  world.arrange = (reader: FakeReader) => (reader.applications = [application(1)]);
  return world;
}

const named = (...names: readonly string[]): ListedAccount[] => names.map((name, index) => ({ id: index + 1, name }));

const accountsOf = (world: World): string[] => world.collector.status().map(({ name }) => name);
const entryOf = (world: World) => world.collector.entries()[0];
const values = async (world: World, account: string): Promise<number | undefined> =>
  world.value(await world.scrape(), 'newrelic_application_reporting', { account });

describe('an entry with account_ids', () => {
  it('reads every account of its list in the first scrape, each under its own name and budget', async () => {
    const world = organisation(named('Shop', 'Pay'));
    expect(entryOf(world)).toMatchObject({ isEmpty: true, success: undefined, listed: undefined });
    expect(await values(world, 'Shop')).toBe(1);
    expect(await values(world, 'Pay')).toBe(1);
    expect(
      world.collector.status().map(({ name, accountId, entry: entryName, up }) => [name, accountId, entryName, up]),
    ).toEqual([
      ['Shop', 1, 'org', true],
      ['Pay', 2, 'org', true],
    ]);
    expect(entryOf(world)).toMatchObject({ isEmpty: false, success: true, listed: 2, exported: 2, leftOut: 0 });
    expect(world.reader.callsOfKind('accounts')).toHaveLength(1);
    expect(world.status.budget.lastMinute).toBe(world.readers.get('1')?.calls.length);
  });

  it('reads a new account, renames an account, and drops an account that two good lists lack', async () => {
    const world = organisation(named('Shop', 'Pay'));
    await world.scrape();
    world.reader.accounts = [
      { id: 1, name: 'Store' },
      { id: 3, name: 'New' },
    ];
    await world.nextMinute(1);
    await world.clock.run(world.collector.readLists(9_500));
    // Held values move to the new name before any new read.
    const renamed = await world.collector.snapshot(EVERYTHING);
    expect(world.value(renamed, 'newrelic_application_reporting', { account: 'Store' })).toBe(1);
    world.readers.get('1')!.fault = ({ kind }) => (kind === 'metric_data' ? { reason: 'server' } : undefined);
    const first = await world.scrape();
    expect(accountsOf(world)).toEqual(['Store', 'Pay', 'New']);
    expect(world.value(first, 'newrelic_application_reporting', { account: 'New' })).toBe(1);
    expect(world.value(first, 'newrelic_application_reporting', { account: 'Shop' })).toBeUndefined();
    expect(world.lines.filter(({ account }) => account === 'Store')).not.toEqual([]);
    await world.nextMinute(1);
    expect(await values(world, 'Pay')).toBeUndefined();
    expect(accountsOf(world)).toEqual(['Store', 'New']);
    expect(world.readers.get('2')?.closed).toBe(true);
  });

  it('drops an account at once when its name no longer matches, and keeps one that a single list lacks', async () => {
    const world = organisation(named('prod a', 'prod b', 'prod c'), { include_accounts: [{ name: 'prod *' }] });
    await world.scrape();
    world.reader.accounts = [
      { id: 1, name: 'test a' },
      { id: 3, name: 'prod c' },
    ];
    await world.nextScrape();
    expect(accountsOf(world)).toEqual(['prod b', 'prod c']);
    world.reader.accounts = named('test a', 'prod b', 'prod c');
    await world.nextScrape();
    world.reader.accounts = [{ id: 3, name: 'prod c' }];
    await world.nextScrape();
    expect(accountsOf(world)).toEqual(['prod b', 'prod c']);
  });

  it.each([
    [
      'fails',
      (reader: FakeReader) => (reader.fault = ({ kind }) => (kind === 'accounts' ? { reason: 'server' } : undefined)),
    ],
    ['is empty', (reader: FakeReader) => (reader.accounts = [])],
  ])('keeps its accounts while its list %s, and retries the list', async (_, spoil) => {
    const world = organisation(named('Shop', 'Pay'));
    await world.scrape();
    spoil(world.reader);
    await world.nextMinute(1);
    await world.scrapeFor(60, 15);
    expect(accountsOf(world)).toEqual(['Shop', 'Pay']);
    expect(entryOf(world)).toMatchObject({ success: false, listed: 2, exported: 2 });
    expect(entryOf(world)?.problem).toBeDefined();
    // At once, and after 5, 10 and 20 seconds at the earliest.
    expect(world.reader.callsOfKind('accounts')).toHaveLength(1 + 3);
    expect(world.lines.filter(({ msg }) => msg.includes('Cannot read the list of accounts'))).toHaveLength(1);
    world.reader.fault = () => undefined;
    world.reader.accounts = named('Shop');
    await world.scrapeFor(130, 15);
    expect(accountsOf(world)).toEqual(['Shop']);
    expect(entryOf(world)).toMatchObject({ success: true, problem: undefined });
    expect(world.lines.filter(({ msg }) => msg.includes('works again'))).toHaveLength(1);
  });

  it('adds the readable accounts of a partial list, and neither removes nor renames accounts', async () => {
    const world = organisation(named('Shop'));
    world.reader.unreadable = 1;
    expect(await values(world, 'Shop')).toBe(1);
    expect(entryOf(world)).toMatchObject({ isEmpty: false, success: false, listed: 2, exported: 1, leftOut: 1 });
    for (let list = 0; list < 3; list += 1) {
      world.reader.accounts = [
        { id: 2, name: 'Pay' },
        { id: 3, name: 'New' },
      ];
      await world.nextScrape();
      world.reader.accounts = [{ id: 1, name: 'Renamed' }];
      await world.nextScrape();
    }
    expect(accountsOf(world)).toEqual(['Shop', 'Pay', 'New']);
    expect(entryOf(world)?.problem).toContain('1 cannot be read');
    expect(world.lines.filter(({ msg }) => msg.includes('Cannot read the list of accounts'))).toHaveLength(1);
    world.reader.unreadable = 0;
    world.reader.accounts = [{ id: 1, name: 'Renamed' }];
    await world.scrapeFor(400, 30);
    expect(accountsOf(world)).toEqual(['Renamed']);
    expect(entryOf(world)).toMatchObject({ success: true, problem: undefined, listed: 1, leftOut: 0 });
  });

  it('has no accounts before its first list, so a probe cannot tell whether an account exists', async () => {
    const world = organisation(named('Shop'));
    world.reader.fault = () => ({ reason: 'server' });
    const probe = (account: string) => world.probe(1, account);
    expect(await probe('Shop')).toMatchObject({ kind: 'unreadable' });
    world.reader.fault = () => undefined;
    await world.clock.until(world.clock.now() + 6_000);
    expect(await probe('Other')).toMatchObject({ kind: 'unknown_account' });
    expect(await probe('Shop')).toMatchObject({ kind: 'result' });
  });

  it('answers at the deadline while its list hangs, and reads the accounts in the background', async () => {
    const world = organisation(named('Shop'));
    world.reader.latency = () => 12_000;
    expect((await world.scrape()).took).toBe(9_500);
    await world.clock.until(world.clock.now() + 5_000);
    expect(await values(world, 'Shop')).toBe(1);
    // No scrape waits for a list that failed, so known accounts are not delayed.
    world.reader.fault = () => ({ reason: 'timeout', latency: 30_000 });
    await world.nextScrape();
    await world.clock.until(world.clock.now() + 45_000);
    expect((await world.scrape()).took).toBeLessThan(1_000);
  });

  it('stops all its accounts after a refused key, and retries only its list', async () => {
    const world = organisation(named('a', 'b', 'c', 'd'));
    await world.scrape();
    const readers = ['1', '2', '3', '4'].map((id) => world.readers.get(id)!);
    for (const reader of readers) reader.fault = () => ({ reason: 'auth', status: 401 });
    world.reader.fault = () => ({ reason: 'auth', status: 401 });
    await world.nextScrape();
    const calls = () => readers.map((reader) => reader.calls.length);
    const before = calls();
    const lists = world.reader.callsOfKind('accounts').length;
    await world.scrapeFor(120, 15);
    expect(calls()).toEqual(before);
    expect(world.reader.callsOfKind('accounts').length).toBeGreaterThan(lists);
    expect(world.collector.status().map(({ up, refused }) => [up, refused !== undefined])).toEqual(
      Array(4).fill([false, true]),
    );
    expect(world.lines.filter(({ msg }) => msg.startsWith('New Relic refuses the key'))).toHaveLength(1);
    for (const reader of [world.reader, ...readers]) reader.fault = () => undefined;
    await world.scrapeFor(400, 30);
    expect(world.collector.status().map(({ up, refused }) => [up, refused])).toEqual(Array(4).fill([true, undefined]));
  });

  it('keeps data by account number over a reload, also with another key, and its list until it is due', async () => {
    const world = organisation(named('Shop', 'Pay'));
    await world.scrape();
    const calls = world.reader.callsOfKind('accounts').length;
    world.keyOf = () => 'another';
    world.collector.reconfigure(config(entry({ labels: { team: 'x' }, exclude_accounts: [{ id: 2 }] }), COLLECTION));
    expect(accountsOf(world)).toEqual(['Shop']);
    const response = await world.collector.snapshot({ groups: new Set(['applications']) });
    expect(world.value(response, 'newrelic_application_reporting', { account: 'Shop', team: 'x' })).toBe(1);
    expect(world.reader.callsOfKind('accounts')).toHaveLength(calls);
  });

  it('warns of applications that vanished, but not of an account that never had any', async () => {
    const world = organisation(named('Shop', 'Empty'));
    world.arrange = () => undefined;
    await world.scrape();
    const warnings = () => world.collector.status().map((status) => status.warnings.length);
    world.readers.get('1')!.applications = [application(1)];
    await world.scrapeFor(130, 60);
    expect(world.collector.status().map(({ isOptional }) => isOptional)).toEqual([false, true]);
    expect(world.collector.applicationLists().map(({ isOptional }) => isOptional)).toEqual([false, true]);
    expect(warnings()).toEqual([0, 0]);
    world.readers.get('1')!.applications = [];
    await world.scrapeFor(130, 60);
    expect(warnings()).toEqual([1, 0]);
  });

  it('warns of a pattern without a match in any account, but not of one with a match in some account', async () => {
    const world = organisation(named('Shop', 'Pay'), {
      applications: { include: [{ name: 'app-*' }, { name: 'gone' }], exclude: [{ name: 'app-2' }, { name: 'none' }] },
    });
    world.arrange = (reader) => (reader.applications = [application(1)]);
    await world.scrape();
    world.readers.get('2')!.applications = [application(1), application(2)];
    await world.scrapeFor(130, 60);
    expect(world.collector.status().flatMap(({ warnings }) => warnings)).toEqual([]);
    expect(entryOf(world)?.warnings).toEqual([expect.stringContaining('no application has the name "gone"')]);
    expect(findUnmatchedExclusions(world.collector.collectors())).toEqual([
      expect.stringContaining('no application has the name "none"'),
    ]);
  });

  it('reads its list again at another address', async () => {
    const world = organisation(named('Shop'));
    await world.scrape();
    world.readers.get('org')!.accounts = [{ id: 7, name: 'Elsewhere' }];
    world.collector.reconfigure({ accounts: [entry({ base_url: 'https://b/graphql' })], collection: COLLECTION });
    expect(accountsOf(world)).toEqual([]);
    await world.scrape();
    expect(accountsOf(world)).toEqual(['Elsewhere']);
  });

  it('is ready in background mode after the first attempts for its list and its accounts', async () => {
    const world = new World([entry()], collectionConfig({ background: true }), NERDGRAPH);
    world.reader.accounts = named('Shop');
    expect(world.collector.isReady).toBe(false);
    const stop = world.collector.refreshInBackground();
    await world.clock.until(world.clock.now() + 50);
    expect(world.collector.isReady).toBe(false);
    await world.clock.until(world.clock.now() + 30_000);
    expect(world.collector.isReady).toBe(true);
    stop();
  });
});

it('two accounts of the same name in two entries both get numbers, in any order of the lists', async () => {
  const world = new World(
    [entry({ name: 'one' }), entry({ name: 'two', base_url: 'https://b/graphql' })],
    COLLECTION,
    NERDGRAPH,
  );
  for (const [name, id] of [
    ['one', 1],
    ['two', 2],
  ] as const) {
    const reader = world.readers.get(name)!;
    reader.accounts = [{ id, name: 'Shop' }];
    reader.latency = () => 100 * id;
  }
  await world.scrape();
  expect(accountsOf(world)).toEqual(['Shop (1)', 'Shop (2)']);
});

it('accounts of one key share its 25 calls at once with their list, and none of them starves', async () => {
  const ids = Array.from({ length: 50 }, (_, index) => index + 1);
  const limits = { ...entry().limits, max_concurrent_requests: 25 };
  const world = organisation(
    ids.map((id) => ({ id, name: `account ${id}` })),
    { limits },
  );
  let inFlight = 0;
  let most = 0;
  const callers: FakeReader[] = [];
  world.arrange = (reader) => {
    // The first account alone could use all of the calls.
    const size = world.readers.get('1') === undefined ? 400 : 20;
    reader.applications = Array.from({ length: size }, (_, index) => application(index + 1));
    reader.latency = () => {
      callers.push(reader);
      inFlight += 1;
      most = Math.max(most, inFlight);
      world.clock.after(1_000, () => (inFlight -= 1));
      return 1_000;
    };
  };
  await world.scrapeFor(120, 15);
  expect(most).toBe(25);
  const states = world.collector
    .status()
    .map(({ groups }) => groups.find(({ group }) => group === 'application_metrics')?.tasks);
  expect(states.map((tasks) => tasks?.missing)).toEqual(ids.map(() => 0));
  const readers = ids.map((id) => world.readers.get(String(id))!);
  const placesOf = (reader: FakeReader) => callers.flatMap((caller, place) => (caller === reader ? [place] : []));
  const places = readers.map(placesOf);
  // Each account reads its list before any account makes a third call. Then each makes one call of fifty.
  expect(Math.max(...places.map(([list = Infinity]) => list))).toBeLessThan(
    Math.min(...places.map(([, , third = Infinity]) => third)),
  );
  expect(new Set(callers.slice(100, 150)).size).toBe(50);
});

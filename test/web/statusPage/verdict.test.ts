import { describe, expect, test } from 'vitest';
import type { EntryStatus, AccountStatus } from '../../../src/collect/accountStatus.ts';
import type { Block } from '../../../src/metrics/writeSamples.ts';
import { shownAccounts } from '../../../src/web/statusPage/shownAccounts.ts';
import { applicationRows } from '../../../src/web/statusPage/trouble.ts';
import { verdictOf } from '../../../src/web/statusPage/verdict.ts';
import {
  accountStatus,
  breakdownBlock,
  entityBlocks,
  groupStatus,
  listedBlock,
  task,
  TEST_NOW,
  type Times,
} from '../support/collector.ts';

type Situation = Parameters<typeof verdictOf>[0];

async function judged(accounts: readonly AccountStatus[], blocks: readonly Block[], over: Partial<Situation> = {}) {
  const shown = await shownAccounts(accounts, blocks, new AbortController().signal);
  return verdictOf({
    accounts: shown,
    entries: [],
    rows: await applicationRows(shown, new AbortController().signal),
    now: TEST_NOW,
    silence: 12,
    background: false,
    maxAge: 300,
    reloadFailed: false,
    scraped: '/metrics',
    ...over,
  });
}

const WELL = 'All read, 30 s ago, no trouble in 1 application';
const untried = groupStatus({ success: undefined, lastSuccess: undefined });
const missing = task({ state: 'missing' });
const failed = { state: 'missing', reason: 'timeout', problem: 'no response within 10 s', failures: 1 } as const;
const auth = { since: TEST_NOW, reason: 'auth', problem: '401 Unauthorized', remedy: 'a key' } as const;
const outage = { ...auth, servedUntil: undefined };

const SCRAPE = 'Nothing read yet: the exporter reads when /metrics is scraped';
const FIRST = 'Nothing read yet: the first reads are under way';
const NO_RESPONSE = 'application_metrics: no response within 10 s';
const slower = groupStatus({ intervalSeconds: 60, effectiveIntervalSeconds: 90 });
const unused = [missing, task({ group: 'metric_names' })];

test.each<[name: string, account: Partial<AccountStatus>, over: Partial<Situation>, verdict: string, text: string]>([
  ['before the first scrape', {}, { silence: undefined }, 'nothing_read', SCRAPE],
  ['before a first read has ended', { groups: [untried] }, {}, 'nothing_read', FIRST],
  ['so in background mode', { groups: [untried] }, { background: true, silence: undefined }, 'nothing_read', FIRST],
  ['seven minutes after the last scrape', {}, { silence: 420 }, 'well', WELL],
  ['one second later', { tasks: unused }, { silence: 421 }, 'not_scraped', 'scrape 7 min 1 s ago: nothing is served'],
  ['while values are still served', {}, { silence: 421 }, 'not_scraped', ': values are served that get too old'],
  ['the same of a slower account', { groups: [slower] }, { silence: 421 }, 'well', WELL],
  ['in background mode without a scrape', {}, { background: true, silence: undefined }, 'well', WELL],
  [
    'no scrape and a read fails',
    { tasks: [task(failed)] },
    { silence: 86_400 },
    'not_scraped',
    'nothing is served now',
  ],
  ['a read fails', { tasks: [task(failed), task()] }, {}, 'failing', `1 of 2 reads fails: ${NO_RESPONSE}`],
  ['two fail', { tasks: [task(failed), task(failed), task()] }, {}, 'failing', `2 of 3 reads fail: ${NO_RESPONSE}`],
  ['a refused key', { up: false, refused: 'the key', tasks: [] }, {}, 'failing', '1 of 1 read fails: the key'],
  ['an outage', { up: false, outage, tasks: [task(failed)] }, {}, 'failing', '1 of 1 read fails: 401 Unauthorized'],
  ['a failed reload', {}, { reloadFailed: true }, 'failing', 'The last reload failed'],
  ['reads under way', { tasks: [task(), missing] }, {}, 'well', '1 of 2 read, 30 s ago'],
  ['warnings', { warnings: ['a', 'b'] }, {}, 'well', 'All read, 30 s ago, 2 warnings, no trouble in 1 application'],
])('%s', async (_name, account, over, verdict, text) => {
  expect(await judged([accountStatus(account)], [], over)).toMatchObject({
    verdict,
    text: expect.stringContaining(text) as unknown,
    style: { nothing_read: 'warn', not_scraped: 'bad', failing: 'bad' }[verdict] ?? (text === WELL ? 'good' : 'warn'),
  });
});

describe('an application in trouble', () => {
  const of = (values: Times, health = 'green', rollingErrors?: number) =>
    judged(
      [accountStatus()],
      [
        listedBlock('production', 7, 'checkout', health, rollingErrors),
        breakdownBlock('production', 7, 'checkout', values),
      ],
    );

  test.each<[Parameters<typeof of>, text: string | undefined]>([
    [[{}, 'red'], 'health red'],
    [[{}, 'orange'], 'health orange'],
    [[{}, 'gray'], undefined],
    [[{ errorRatio: 0.05 }], undefined],
    [[{ errorRatio: 0.0512 }], 'errors 5.12 %'],
    [[{ apdexScore: 0.7 }], undefined],
    [[{ apdexScore: 0.69 }], 'Apdex 0.69'],
    [[{ errorRatio: 0.5, apdexScore: 0.27 }, 'red'], 'health red, errors 50 %, Apdex 0.27'],
    // What is served of the window goes before a rolling value.
    [[{}, 'green', 0.06], 'errors 6 %'],
    [[{ errorRatio: 0.01 }, 'green', 0.06], undefined],
  ])('by health, errors above 5 %% or an Apdex below 0.7: %j', async (values, text) => {
    const style = text === 'health orange' ? 'warn' : 'bad';
    const trouble = { verdict: 'trouble', count: 1, text: `1 application in trouble: checkout (${text})`, style };
    expect(await of(...values)).toMatchObject(text === undefined ? { verdict: 'well', count: 0 } : trouble);
  });

  test('is one that several accounts list, and the first three are named, the worst first', async () => {
    const applications = [1, 2, 3, 4].map((id) => ({ id, name: `app-${id}`, language: 'go', reporting: true }));
    const blocks = ['a', 'b'].flatMap((account) =>
      applications.map(({ id, name }) =>
        breakdownBlock(account, id, name, { apdexScore: 0.5, errorRatio: id === 4 ? 0.2 : 0, response: id }),
      ),
    );
    const accounts = ['a', 'b'].map((name) => accountStatus({ name, applications }));
    const { text, count } = await judged(accounts, blocks);
    expect(text).toBe(
      '4 applications in trouble: app-4 (errors 20 %, Apdex 0.50), app-3 (Apdex 0.50), app-2 (Apdex 0.50) and 1 more',
    );
    expect(count).toBe(4);
    const failing = await judged([accountStatus({ name: 'a', applications, tasks: [task(failed)] })], blocks);
    expect(failing.text).toContain('no response within 10 s; 4 applications in trouble');
  });
});

test('an entity in trouble is told, and then it is not green', async () => {
  const blocks = ['red', 'green', 'orange'].flatMap((health) => entityBlocks('production', 'A', health, health, {}));
  const expected = { verdict: 'well', style: 'warn', count: 0, text: 'All read, 30 s ago, 2 entities in trouble' };
  expect(await judged([accountStatus({ applications: [] })], blocks)).toEqual(expected);
});

test('accounts that cannot be read for one reason are counted, and else one of them is named', async () => {
  const of = (...reasons: string[]) =>
    judged(
      reasons.map((refused, index) => accountStatus({ name: `a${index}`, ...(refused && { refused }), tasks: [] })),
      [],
    );
  expect((await of('', 'refused', 'refused')).text).toBe('2 of 2 reads fail: 2 accounts cannot be read: refused');
  expect((await of('', 'refused', 'no')).text).toBe('2 of 2 reads fail: 2 accounts cannot be read, a1: refused');
  expect((await of('', 'refused')).text).toBe('1 of 1 read fails: account a1 cannot be read: refused');
});

test('a list of accounts that fails is a read that fails, also while there is no account', async () => {
  const list: EntryStatus = {
    ...{ entry: 'all of it', labels: {}, success: false, reason: 'server', problem: 'graphql:accounts: 503' },
    ...{ remedy: 'wait', since: TEST_NOW },
    ...{ refused: undefined, isEmpty: true, listed: undefined, exported: undefined, leftOut: undefined },
    ...{ accounts: [], warnings: [], missingMetrics: [] },
  };
  expect(await judged([], [], { entries: [list] })).toMatchObject({
    verdict: 'failing',
    text: '1 of 1 read fails: the list of accounts of all of it cannot be read: graphql:accounts: 503',
  });
  const waiting = { ...list, success: undefined, reason: undefined, problem: undefined };
  expect(await judged([], [], { entries: [waiting] })).toMatchObject({ verdict: 'nothing_read' });
});

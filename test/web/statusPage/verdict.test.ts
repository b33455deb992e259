import { describe, expect, test } from 'vitest';
import type { EntryStatus, AccountStatus } from '../../../src/collect/serve/accountStatus.ts';
import type { Block } from '../../../src/metrics/writeSamples.ts';
import { findProblems } from '../../../src/web/statusPage/problems.ts';
import { joinAccounts } from '../../../src/web/statusPage/shownAccounts.ts';
import { listRows } from '../../../src/web/statusPage/trouble.ts';
import { judge } from '../../../src/web/statusPage/verdict.ts';
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

type Situation = Parameters<typeof findProblems>[0];

async function judged(accounts: readonly AccountStatus[], blocks: readonly Block[], over: Partial<Situation> = {}) {
  const { signal } = new AbortController();
  const shown = await joinAccounts(accounts, blocks, signal);
  const situation = {
    accounts: shown,
    entries: [],
    rows: await listRows(shown, signal),
    reloadFailure: undefined,
    now: TEST_NOW,
    silence: 12,
    background: false,
    maxAge: 300,
    scraped: '/metrics',
    ...over,
  };
  return judge(situation, findProblems(situation));
}

const WELL = 'All read, 30 s ago, no trouble in 1 application';
const untried = groupStatus({ success: undefined, lastSuccess: undefined });
const missing = task({ state: 'missing' });
const failed = { state: 'missing', reason: 'timeout', problem: 'no response within 10 s', failures: 1 } as const;
const auth = { since: TEST_NOW, reason: 'auth', problem: '401 Unauthorized', remedy: 'a key' } as const;
const outage = { ...auth, servedUntil: undefined };
const REFUSED = 'New Relic refuses the key of production';

const SCRAPE = 'Nothing read yet: the exporter reads when /metrics is scraped';
const FIRST = 'Nothing read yet: the first reads are under way';
const NO_ANSWER = 'New Relic does not answer in time for application_metrics of checkout';
const slower = groupStatus({ intervalSeconds: 60, effectiveIntervalSeconds: 90 });
const unused = [missing, task({ group: 'metric_names' })];
const partly = groupStatus({ tasks: { fresh: 97, stale: 0, missing: 157 } });
const reloadFailure = { failedAt: TEST_NOW, diagnostics: ['c.yaml:1:1: a'] };
const never = { groups: [groupStatus({ success: false, lastSuccess: undefined })] };
const longAgo = { groups: [groupStatus({ lastSuccess: TEST_NOW - 86_400 })] };

test.each<[name: string, account: Partial<AccountStatus>, over: Partial<Situation>, verdict: string, text: string]>([
  ['is "nothing_read" before the first scrape', {}, { silence: undefined }, 'nothing_read', SCRAPE],
  ['is "nothing_read" until the first read has ended', { groups: [untried] }, {}, 'nothing_read', FIRST],
  [
    'is "nothing_read" until the first read has ended in background mode',
    { groups: [untried] },
    { background: true, silence: undefined },
    'nothing_read',
    FIRST,
  ],
  ['is "well" seven minutes after the last scrape', {}, { silence: 420 }, 'well', WELL],
  [
    'is "not_scraped" one second later',
    { tasks: unused },
    { silence: 421 },
    'not_scraped',
    'scrape 7 min 1 s ago: nothing is served',
  ],
  [
    'says that values are going stale while values are still served',
    {},
    { silence: 421 },
    'not_scraped',
    ': values are going stale',
  ],
  ['is still "well" then for an account with longer intervals', { groups: [slower] }, { silence: 421 }, 'well', WELL],
  ['is "well" in background mode without a scrape', {}, { background: true, silence: undefined }, 'well', WELL],
  [
    'is "not_scraped" where also a read fails',
    { tasks: [task(failed)] },
    { silence: 86_400 },
    'not_scraped',
    'nothing is served now',
  ],
  [
    'counts one failing read',
    { tasks: [task(failed), task()] },
    {},
    'failing',
    `1 of 2 reads fails: ${NO_ANSWER} (production)`,
  ],
  [
    'counts two failing reads',
    { tasks: [task(failed), task(failed), task()] },
    {},
    'failing',
    `2 of 3 reads fail: ${NO_ANSWER} and 1 more`,
  ],
  [
    'counts the problems of two reads that fail in two ways',
    { tasks: [task(failed), task({ ...failed, problem: 'b' })] },
    {},
    'failing',
    '; 1 more problem',
  ],
  [
    'is "failing" with a refused key',
    { up: false, refused: 'no', tasks: [] },
    {},
    'failing',
    `${REFUSED}: nothing new since 2025-12-31 23:59:30 UTC`,
  ],
  [
    'says since when a key is refused',
    { up: false, refused: 'no', ...longAgo },
    {},
    'failing',
    `since 2025-12-31 00:00:00 UTC`,
  ],
  [
    'says that nothing was read with a key refused from the start',
    { up: false, outage, ...never },
    {},
    'failing',
    `${REFUSED}: nothing was read yet`,
  ],
  [
    'is "failing" in an outage',
    { up: false, outage, tasks: [task(failed)] },
    {},
    'failing',
    `${REFUSED}: nothing new since 2025-12-31 23:59:30 UTC`,
  ],
  [
    'is "failing" after a failed reload',
    {},
    { reloadFailure },
    'failing',
    'The last reload failed: the previous configuration stays in force',
  ],
  [
    'is "incomplete" with reads that have no value',
    { groups: [partly] },
    {},
    'incomplete',
    'but 157 of 254 reads have no value that may be served',
  ],
  ['is "well" with reads that no scrape requests', { tasks: [task(), missing] }, {}, 'well', WELL],
  ['counts warnings', { warnings: ['a', 'b'] }, {}, 'well', `${WELL}, 2 warnings`],
])('the verdict %s', async (_name, account, over, verdict, text) => {
  expect(await judged([accountStatus(account)], [], over)).toMatchObject({
    verdict,
    text: expect.stringContaining(text) as unknown,
    style: { not_scraped: 'bad', failing: 'bad', well: 'good' }[verdict] ?? 'warn',
  });
});

describe('an application in trouble', () => {
  const judge = (values: Times, health = 'green', rollingErrors?: number) =>
    judged(
      [accountStatus()],
      [
        listedBlock('production', 7, 'checkout', health, rollingErrors),
        breakdownBlock('production', 7, 'checkout', values),
      ],
    );

  const busy = { requests: 1, apdexRequests: 100 };
  test.each<[Parameters<typeof judge>, text: string | undefined]>([
    [[{}, 'red'], 'health red'],
    [[{}, 'orange'], 'health orange'],
    [[{}, 'gray'], undefined],
    [[{ ...busy, errorRatio: 0.05 }], undefined],
    [[{ ...busy, errorRatio: 0.0512 }], 'errors 5.12 %'],
    [[{ errorRatio: 0.0512 }], undefined],
    // Two errors of 35 requests in five minutes, at night.
    [[{ errorRatio: 2 / 35, requests: 35 / 300 }], undefined],
    [[{ errorRatio: 0.5, requests: 0.04 }], undefined],
    [[{ errorRatio: 0.5, requests: 0.03, background: 0.011 }], 'errors 50 %'],
    [[{ ...busy, apdexScore: 0.7 }], undefined],
    [[{ ...busy, apdexScore: 0.69 }], 'Apdex 0.69'],
    [[{ apdexScore: 0, apdexRequests: 99 }], undefined],
    [[{ apdexScore: 0.27 }], undefined],
    [[{ ...busy, errorRatio: 0.5, apdexScore: 0.27 }, 'red'], 'health red, errors 50 %, Apdex 0.27'],
    // A value of the window goes before a rolling value.
    [[{ requests: 1 }, 'green', 0.06], 'errors 6 %'],
    [[{ requests: 1, errorRatio: 0.01 }, 'green', 0.06], undefined],
  ])('has red or orange health, many errors or a low Apdex over enough requests: %j', async (values, text) => {
    const style = text === 'health orange' ? 'warn' : 'bad';
    const trouble = { verdict: 'trouble', count: 1, text: `1 application in trouble: checkout (${text})`, style };
    expect(await judge(...values)).toMatchObject(text === undefined ? { verdict: 'well', count: 0 } : trouble);
  });

  test('is counted once for several accounts, and the first five are named, the worst first', async () => {
    const applications = [1, 2, 3, 4, 5, 6].map((id) => ({ id, name: `app-${id}`, language: 'go', reporting: true }));
    const blocks = ['a', 'b'].flatMap((account) =>
      applications.map(({ id, name }) =>
        breakdownBlock(account, id, name, {
          ...busy,
          ...{ apdexScore: 0.5, errorRatio: id === 4 ? 0.2 : 0, response: id },
        }),
      ),
    );
    const accounts = ['a', 'b'].map((name) => accountStatus({ name, applications }));
    const { text, count } = await judged(accounts, blocks);
    expect(text).toBe(
      '6 applications in trouble: app-4 (errors 20 %, Apdex 0.50), app-6 (Apdex 0.50), app-5 (Apdex 0.50), app-3 (Apdex 0.50), app-2 (Apdex 0.50) and 1 more',
    );
    expect(count).toBe(6);
    const failing = await judged([accountStatus({ name: 'a', applications, tasks: [task(failed)] })], blocks);
    expect(failing.text).toContain('of checkout (a); 6 applications in trouble');
  });
});

describe('an entity in trouble', () => {
  const entities = (...healths: string[]) =>
    healths.flatMap((health) => entityBlocks('production', 'A', health, health, {}));

  test.each([
    [['red', 'green', 'orange'], '2 entities in trouble: A red (health red), A orange (health orange)', 'bad'],
    [['green', 'orange'], '1 entity in trouble: A orange (health orange)', 'warn'],
  ])('is named, and gives the verdict: %j', async (healths, text, style) => {
    const verdict = await judged([accountStatus({ applications: [] })], entities(...healths));
    expect(verdict).toMatchObject({ verdict: 'trouble', style, text });
  });

  test('is named beside an application in trouble, the worst of both first', async () => {
    const blocks = [listedBlock('production', 7, 'checkout', 'orange'), ...entities('red', 'green')];
    const text = '1 application and 1 entity in trouble: A red (health red), checkout (health orange)';
    expect(await judged([accountStatus()], blocks)).toMatchObject({ verdict: 'trouble', count: 2, style: 'bad', text });
    const well = await judged([accountStatus()], entities('green'));
    expect(well.text).toBe('All read, 30 s ago, no trouble in 1 application and 1 entity');
  });
});

test('accounts that cannot be read for one reason are one problem', async () => {
  const network = { ...outage, reason: 'network' } as const;
  const states = (...over: Partial<AccountStatus>[]) =>
    judged(
      over.map((each, index) => accountStatus({ name: `a${index}`, tasks: [], ...each })),
      [],
    );
  const no = { refused: 'refused' };
  const since = 'nothing new since 2025-12-31 23:59:30 UTC';
  expect((await states({}, no, { refused: 'no' })).text).toBe(`New Relic refuses the key of a1 and a2: ${since}`);
  expect((await states({}, no, { outage: network })).text).toBe(
    `New Relic refuses the key of a1: ${since}; 1 more problem`,
  );
  expect((await states(no, no, no, no, no)).text).toContain('the key of 5 accounts (a0, a1, a2 and 2 more): nothing');
});

describe('reads that fail', () => {
  type Failed = Parameters<typeof task>[0];
  const refusedReads: Failed[] = (['applications', 'key_transactions', 'queries'] as const).map((group) => {
    return { group, reason: 'auth', problem: `graphql:${group}: 401`, failures: 1, application: undefined };
  });
  const alike = (reason: 'network' | 'not_found'): Failed[] =>
    refusedReads.map((each) => ({ ...each, reason, problem: `${each?.group}: no` }));
  const since = 'nothing new since 2025-12-31 23:59:30 UTC';

  test.each<[name: string, account: Partial<AccountStatus>, tasks: Failed[], headlines: string[]]>([
    ['with a refused key', { up: false, refused: 'no' }, refusedReads, [`${REFUSED}: ${since}`]],
    ['with a key refused from the start', { up: false, outage }, refusedReads, [`${REFUSED}: ${since}`]],
    [
      'without a network',
      { up: false, outage: { ...outage, reason: 'network' } },
      alike('network'),
      [`New Relic cannot be reached for production: ${since}`],
    ],
    [
      'for another reason than the account',
      { up: false, outage },
      [...refusedReads, { group: 'hosts', reason: 'too_large', problem: 'too much', failures: 1 }],
      [`${REFUSED}: ${since}`, 'New Relic sends too large a response for hosts of checkout (production)'],
    ],
    [
      'for reasons that concern one read each',
      { up: false, outage: { ...outage, reason: 'not_found', problem: 'applications: no' } },
      alike('not_found'),
      [
        `New Relic does not find production: ${since}`,
        'New Relic does not find key_transactions (production)',
        'New Relic does not find queries (production)',
      ],
    ],
    [
      'with a key that may read the list',
      {},
      refusedReads.slice(1),
      ['New Relic refuses the key of key_transactions and queries (production)'],
    ],
  ])('%s are one problem for each cause', async (_name, account, tasks, headlines) => {
    const { signal } = new AbortController();
    const accounts = await joinAccounts([accountStatus({ ...account, tasks: tasks.map(task) })], [], signal);
    const situation = { accounts, entries: [], rows: [], reloadFailure: undefined, now: TEST_NOW, silence: 12 };
    const problems = findProblems({ ...situation, background: false, maxAge: 300, scraped: '/metrics' });
    expect(problems.map(({ headline }) => headline)).toEqual(headlines);
  });
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
    text: 'New Relic fails with a server error for all of it, the list of its accounts',
  });
  const refused = { ...list, reason: 'auth', refused: 'no' } as const;
  const account = accountStatus({ name: 'a', entry: 'all of it', refused: 'no', tasks: [] });
  expect((await judged([account], [], { entries: [refused] })).text).toBe(
    'New Relic refuses the key of a: nothing new since 2025-12-31 23:59:30 UTC',
  );
  expect((await judged([], [], { entries: [refused] })).text).toContain('the list of its accounts');
  const waiting = { ...list, success: undefined, reason: undefined, problem: undefined };
  expect(await judged([], [], { entries: [waiting] })).toMatchObject({ verdict: 'nothing_read' });
});

import { describe, expect, it } from 'vitest';
import { applicationIdOf } from '../../../src/api/nerdgraph/lists.ts';
import type { Outcome } from '../../../src/api/upstreamReader.ts';
import type { RollingValues } from '../../../src/api/types.ts';
import { failureOf, readAll, readOne } from '../support/reading.ts';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import { ACCOUNT, RANGE, readNerdGraph, startBoth } from './nerdGraphReading.ts';
import { say, startBetween, where, type Fault } from './proxy.ts';

type Entity = Record<string, unknown>;
interface Page {
  data: {
    actor: { entitySearch: { count: unknown; results: { nextCursor: unknown; entities: (Entity | null)[] } | null } };
  };
}

const editSearch =
  (change: (search: Page['data']['actor']['entitySearch']) => void): Fault =>
  (response, { text }, good) => {
    if (!text.includes('entitySearch')) return false;
    const body = JSON.parse(good) as Page;
    change(body.data.actor.entitySearch);
    // The response to an unknown cursor does not matter here.
    response.end(JSON.stringify({ data: body.data }));
    return true;
  };

describe('a key transaction whose entity is null because of a failed field', () => {
  it('counts as failed, not as gone, and the others are listed', async () => {
    const { simulator, nerdGraph } = await startBoth({ applications: 2, keyTransactions: 3 });
    const { reader, call } = nerdGraph;
    const [first] = await reader.listKeyTransactions({}, call);
    const again = readNerdGraph(`${simulator.url}/graphql`, { key: () => DEMO_API_KEY });
    simulator.change(first!.id, { failing: true });
    const list = await again.reader.listKeyTransactions({}, again.call);
    expect(list.map(({ id, unread }) => [id, unread !== undefined])).toEqual(
      list.map(({ id }) => [id, id === first!.id]),
    );
    expect(list).toHaveLength(3);
    expect(again.notes.failures).toHaveLength(1);
    // Previous details stay in use.
    expect((await reader.listKeyTransactions({}, call)).every(({ unread }) => unread === undefined)).toBe(true);
  });
});

describe('the account', () => {
  it('is looked up once with a key that sees one account, however many reads need it', async () => {
    const { nerdGraph } = await startBoth({ applications: 2 }, { accountId: undefined });
    const { reader, call, notes } = nerdGraph;
    await Promise.all([reader.listApplications({}, call), reader.listKeyTransactions({}, call)]);
    await reader.listApplications({}, call);
    expect(notes.failures).toEqual([]);
    expect(notes.started.filter((endpoint) => endpoint === 'graphql:applications')).toHaveLength(3);
  });

  it('is looked up again after a change of the key, because the new key may see another account', async () => {
    let key = 'first';
    const between = await startBetween({ applications: 2 }, { accountId: undefined, key: () => key });
    between.fault = (response, { text }) => {
      if (!text.includes('accounts {')) return false;
      const account = key === 'first' ? { id: ACCOUNT, name: null } : { id: 7_654_321, name: 'Other' };
      response.end(JSON.stringify({ data: { actor: { accounts: [account] } } }));
      return true;
    };
    const { reader, call, asked, notes } = between;
    expect(await reader.listApplications({}, call)).toHaveLength(2);
    expect(await reader.listApplications({}, call)).toHaveLength(2);
    expect(asked).toHaveLength(3);
    expect(notes.failures).toEqual([]);
    key = 'second';
    await failureOf(reader.listApplications({}, call)).catch(() => undefined);
    expect(asked).toHaveLength(5);
    expect(asked[4]!.text).toContain('7654321');
  });

  it('is found once with a key that sees it twice', async () => {
    const accounts = [
      { id: ACCOUNT, name: 'Alpha' },
      { id: ACCOUNT, name: 'Alpha' },
    ];
    const { nerdGraph } = await startBoth({ applications: 2, accounts }, { accountId: undefined });
    expect(await nerdGraph.reader.listApplications({}, nerdGraph.call)).toHaveLength(2);
  });

  it.each<[string, { id: number; name: string }[], RegExp]>([
    [
      'several',
      [
        { id: 7, name: 'Alpha' },
        { id: 8, name: 'Beta' },
      ],
      /the key sees 2 accounts, set account_id to one of them, or write "api: rest": 7 \(Alpha\), 8 \(Beta\)/,
    ],
    ['none', [], /the key sees no account: give its user a role in the account/],
  ])('is not guessed where the key sees %s', async (_, accounts, words) => {
    const { nerdGraph } = await startBoth({ applications: 2, accounts }, { accountId: undefined });
    const failure = await failureOf(nerdGraph.reader.listApplications({}, nerdGraph.call));
    expect(failure.message).toMatch(words);
  });

  it('that the key does not list is a failure if it shows nothing, and is looked up only once', async () => {
    let now = 0;
    const hours = (count: number): void => void (now += count * 3_600_000);
    const between = await startBetween({ applications: 2 }, { monotonic: () => now });
    const { reader, call, asked } = between;
    const lookUps = (): number => asked.filter(({ text }) => text.includes('accounts {')).length;
    let listed = 7;
    let isEmpty = true;
    between.fault = (response, { text }, good) => {
      if (text.includes('accounts {')) {
        response.end(JSON.stringify({ data: { actor: { accounts: [{ id: listed, name: 'Alpha' }] } } }));
        return true;
      }
      if (!isEmpty) return false;
      const body = JSON.parse(good) as Page;
      body.data.actor.entitySearch = { count: 0, results: { nextCursor: null, entities: [] } };
      response.end(JSON.stringify(body));
      return true;
    };
    for (let refresh = 0; refresh < 3; refresh += 1) {
      const { failure, message } = await failureOf(reader.listApplications({}, call));
      expect(failure.reason).toBe('forbidden');
      expect(message).toContain(
        `graphql:applications: the key does not list account ${ACCOUNT} (account_id), it lists 7 (Alpha)`,
      );
    }
    expect(lookUps()).toBe(1);
    hours(6);
    listed = ACCOUNT;
    expect(await reader.listApplications({}, call)).toEqual([]);
    expect(await reader.listApplications({}, call)).toEqual([]);
    expect(lookUps()).toBe(2);
    isEmpty = false;
    expect(await reader.listApplications({}, call)).toHaveLength(2);
    expect(lookUps()).toBe(2);
    isEmpty = true;
    listed = 7;
    expect((await failureOf(reader.listApplications({}, call))).failure.reason).toBe('forbidden');
  });

  it('without any timeslice causes a warning, and with timeslices it does not', async () => {
    const between = await startBetween({ applications: 2 });
    const { reader, call } = between;
    await reader.listApplications({}, call);
    expect((await reader.diagnose(RANGE, call)).warnings).toEqual([]);
    between.fault = (response, { nrql }, good) => {
      if (nrql === '') return false;
      response.end(good.replace(/"results":\[.*?\],"otherResult"/s, '"results":[],"otherResult"'));
      return true;
    };
    expect((await reader.diagnose(RANGE, call)).warnings[0]).toMatch(
      /NRQL has no timeslice of 2 reporting applications in account/,
    );
  });

  it('with queries too big to answer cannot be diagnosed, and its names cannot be listed', async () => {
    const between = await startBetween({ applications: 2 });
    const { reader, call } = between;
    await reader.listApplications({}, call);
    between.fault = where(() => true, say('that query is a little too big'));
    const failures = [
      await failureOf(reader.diagnose(RANGE, call)),
      await failureOf(reader.listMetricNames({ applicationId: 1_000_001 }, call)),
    ];
    expect(failures.map(({ failure }) => failure.reason)).toEqual(['too_large', 'too_large']);
  });
});

describe('the list of applications', () => {
  it('consists of all pages', async () => {
    const { nerdGraph } = await startBoth({ applications: 450, hostsPerApplication: 1 });
    const { reader, call, notes } = nerdGraph;
    expect(await reader.listApplications({}, call)).toHaveLength(450);
    expect(notes.started).toHaveLength(3);
    expect((await reader.listApplications({ ids: [1_000_449, 1] }, call)).map(({ id }) => id)).toEqual([1_000_449]);
    expect((await reader.listApplications({ ids: [1_000_002] }, call))[0]?.name).toBe('Checkout API');
  });

  it.each<[string, (search: Page['data']['actor']['entitySearch']) => void, RegExp]>([
    ['a page is null', (search) => (search.results = null), /no list "entities"/],
    ['the service counts more', (search) => (search.count = 4), /3 entities, but New Relic counts 4/],
    ['there is no count', (search) => (search.count = null), /no "count"/],
    ['every entity is null', ({ results }) => results!.entities.fill(null), /none of the 3 entities/],
    [
      'a cursor comes again',
      (search) => (search.results = { nextCursor: 'again', entities: search.results?.entities ?? [] }),
      /the link to its next page repeats an earlier page/,
    ],
    ['a cursor is a number', (search) => (search.results!.nextCursor = 7), /"nextCursor" is not a text/],
    [
      'no record can be read',
      ({ results }) => results!.entities.forEach((each) => delete each!['applicationId']),
      /none of the 3 entities/,
    ],
  ])('is refused as a whole where %s', async (_, change, words) => {
    const between = await startBetween({ applications: 3 });
    between.fault = editSearch(change);
    const failure = await failureOf(between.reader.listApplications({}, between.call));
    expect(failure.failure.reason).toBe('invalid_response');
    expect(failure.message).toMatch(words);
  });

  it.each<[string, Entity, Entity | undefined]>([
    ['red where alerts are critical', { alertSeverity: 'CRITICAL' }, { healthStatus: 'red' }],
    ['orange where alerts warn', { alertSeverity: 'WARNING' }, { healthStatus: 'orange' }],
    ['unknown without alerts', { alertSeverity: 'NOT_CONFIGURED' }, { healthStatus: 'unknown' }],
    [
      'without settings that are null',
      { settings: { apdexTarget: null, serverSideConfig: null }, apmSummary: { hostCount: null, instanceCount: null } },
      {
        summary: expect.objectContaining({ apdexTarget: undefined, hostCount: undefined, instanceCount: undefined }),
        apdexThreshold: undefined,
        serverSideConfig: undefined,
        hosts: undefined,
        instances: undefined,
      },
    ],
    ['without a health status', { alertSeverity: null }, { healthStatus: undefined }],
    ['gray if silent', { alertSeverity: 'CRITICAL', reporting: false }, { healthStatus: 'gray', reporting: false }],
    ['reporting where that is null', { reporting: null }, { reporting: true }],
    ['in lower case', { language: 'JAVA' }, { language: 'java' }],
    [
      'without what cannot be read',
      { language: 7, apmSummary: 'x', settings: { apdexTarget: -1, serverSideConfig: true } },
      { language: undefined, hosts: undefined, apdexThreshold: undefined, serverSideConfig: true },
    ],
    ['left out without an id', { applicationId: null }, undefined],
    ['left out when it is of another account', { accountId: 7 }, undefined],
  ])('lists an application %s', async (_, fields, expected) => {
    const between = await startBetween({ applications: 3 });
    between.fault = editSearch(({ results }) => Object.assign(results!.entities[1]!, fields));
    const list = await between.reader.listApplications({}, between.call);
    const second = list.find(({ id }) => id === 1_000_002);
    if (expected === undefined) expect(second).toBeUndefined();
    else expect(second).toMatchObject(expected);
    expect(list).toHaveLength(expected === undefined ? 2 : 3);
  });
});

describe('the list of key transactions', () => {
  it('keeps their details for the configured time', async () => {
    let time = 0;
    const { nerdGraph } = await startBoth(
      { applications: 16, keyTransactions: 30 },
      { detailsMs: 1_000, monotonic: () => time },
    );
    const { reader, call, notes } = nerdGraph;
    const calls: number[] = [];
    for (time of [0, 999, 1_000]) {
      const before = notes.started.length;
      await reader.listKeyTransactions({}, call);
      calls.push(notes.started.length - before);
    }
    expect(calls).toEqual([3, 1, 3]);
  });

  it.each([
    ['accounts', 'accounts'],
    ['key transactions', 'entities'],
  ])('%s: a null list fails for the reason in its error, and is retried', async (what, field) => {
    const between = await startBetween(
      { applications: 3, keyTransactions: 2 },
      { maxRetries: 1, ...(what === 'accounts' ? { accountId: undefined } : {}) },
    );
    between.fault = (response, { text }) => {
      if (!text.includes(field === 'accounts' ? 'accounts {' : 'entities(guids')) return false;
      const errors = [{ message: 'no', path: ['actor', field], extensions: { errorClass: 'SERVER_ERROR' } }];
      response.end(JSON.stringify({ data: { actor: { [field]: null } }, errors }));
      return true;
    };
    const failure = await failureOf(between.reader.listKeyTransactions({}, between.call));
    expect(failure.failure.reason).toBe('server');
    expect(between.notes.retries.map(({ reason }) => reason)).toEqual(['server']);
  });

  it('keeps the previous details when they cannot be read again', async () => {
    let time = 0;
    const between = await startBetween(
      { applications: 3, keyTransactions: 2 },
      { detailsMs: 1_000, monotonic: () => time },
    );
    const { reader, call } = between;
    const before = await reader.listKeyTransactions({}, call);
    time = 2_000;
    between.fault = (response, { text }) => {
      if (!text.includes('entities(guids')) return false;
      response.end('{}');
      return true;
    };
    expect(await reader.listKeyTransactions({}, call)).toEqual(before);
    expect(between.notes.failures).toHaveLength(1);
  });

  it('marks key transactions without details as unread, and only these fail until they are read', async () => {
    const between = await startBetween({ applications: 3, keyTransactions: 60 });
    const { reader, call, notes } = between;
    let calls = 0;
    between.fault = (response, asked, good) =>
      asked.text.includes('entities(guids') && (calls += 1) === 2 && say('no', 'ODD')(response, asked, good);
    const listed = await reader.listKeyTransactions({}, call);
    expect(listed).toHaveLength(60);
    const unread = listed.filter((each) => each.unread !== undefined).map(({ id }) => id);
    expect(unread).toHaveLength(25);
    const read = (): Promise<readonly Outcome<RollingValues>[]> => {
      const subjects = listed.map(({ id }) => ({ keyTransactionId: id }));
      return readAll(reader.rolling!, subjects, RANGE, call);
    };
    const failed = (await read()).flatMap((each, index) => ('error' in each ? [listed[index]!.id] : []));
    expect(failed).toEqual(unread);
    expect(notes.failures).toHaveLength(1);
    expect((await reader.listKeyTransactions({}, call)).filter((each) => each.unread !== undefined)).toEqual([]);
    expect((await read()).filter((each) => 'error' in each)).toEqual([]);
  });

  it('keeps the previous value of a field that fails later, and reads the details again soon', async () => {
    let time = 0;
    const between = await startBetween(
      { applications: 3, keyTransactions: 2 },
      { detailsMs: 6 * 3_600_000, monotonic: () => time },
    );
    const { reader, call, asked } = between;
    const before = await reader.listKeyTransactions({}, call);
    time = 6 * 3_600_000;
    between.fault = (response, { text }, good) => {
      if (!text.includes('entities(guids')) return false;
      const body = JSON.parse(good) as { data: { actor: { entities: Record<string, unknown>[] } } };
      const errors = body.data.actor.entities.map((entity, index) => {
        Object.assign(entity, { application: null, metricName: null, apdexTarget: null });
        return { message: 'no', path: ['actor', 'entities', index, 'application'], extensions: { errorClass: 'ODD' } };
      });
      response.end(JSON.stringify({ ...body, errors }));
      return true;
    };
    expect(await reader.listKeyTransactions({}, call)).toEqual(before);
    const calls = asked.length;
    time += 5 * 60_000;
    await reader.listKeyTransactions({}, call);
    expect(asked.length - calls).toBe(2);
  });

  it('gives key transactions of an invisible application their own measurements', async () => {
    const between = await startBetween({ applications: 6, keyTransactions: 6 });
    const { reader, call } = between;
    await reader.listApplications({}, call);
    const listed = await reader.listKeyTransactions({}, call);
    const subjects = listed.map(({ id }) => ({ keyTransactionId: id }));
    const whole = await readAll(reader.rolling!, subjects, RANGE, call);
    const foreign = listed.findIndex(({ applicationId }) => applicationId === 9_999_999);
    expect(whole[foreign]).toHaveProperty('value.summary.requestRate', expect.any(Number));
    const refuse = (errorClass: string) => where((nrql) => nrql.includes('9999999'), say('no', errorClass));
    between.fault = refuse('ACCESS_DENIED');
    expect(await readAll(reader.rolling!, subjects, RANGE, call)).toEqual(whole);
    between.fault = refuse('ODD');
    const failed = (await readAll(reader.rolling!, subjects, RANGE, call)).map((each) => 'error' in each);
    expect(failed).toEqual(subjects.map((_, index) => index === foreign));
  });

  it('gives rates over the time that was answered', async () => {
    const between = await startBetween({ applications: 2, keyTransactions: 1 });
    const { reader, call } = between;
    const [listed] = await reader.listKeyTransactions({}, call);
    const rate = async (): Promise<number> => {
      const subject = { keyTransactionId: listed!.id } as const;
      return (await readOne(reader.rolling, subject, call, RANGE)).summary?.requestRate ?? NaN;
    };
    const before = await rate();
    between.fault = (response, { nrql }, good) => {
      if (!nrql.includes('apm.key.transaction')) return false;
      response.end(good.replace(/"begin":(\d+)/, (_, begin: string) => `"begin":${Number(begin) - 60_000}`));
      return true;
    };
    expect((await rate()) / before).toBeCloseTo(10 / 11, 9);
  });

  it('counts key transactions missing in a response, and is refused where the response has none', async () => {
    const between = await startBetween({ applications: 3, keyTransactions: 4 });
    const { reader, call, notes } = between;
    const whole = await reader.listKeyTransactions({}, call);
    let answered = 0;
    between.fault = (response, { text }, good) => {
      if (!text.includes('entities(guids')) return false;
      const { entities } = (JSON.parse(good) as { data: { actor: { entities: unknown[] } } }).data.actor;
      response.end(JSON.stringify({ data: { actor: { entities: [null, ...entities.slice(0, answered)] } } }));
      return true;
    };
    const empty = await startBetween({ applications: 3, keyTransactions: 4 });
    empty.fault = between.fault;
    const failure = await failureOf(empty.reader.listKeyTransactions({}, empty.call));
    expect(failure.failure.reason).toBe('invalid_response');
    answered = 1;
    expect(await empty.reader.listKeyTransactions({}, empty.call)).toEqual(whole.slice(0, 1));
    expect(empty.notes.failures.at(-1)?.message).toContain('left out 3 bad records');
    expect(notes.failures).toEqual([]);
  });

  it.each<[string, string | undefined, number | undefined]>([
    ['with padding', Buffer.from('12|APM|APPLICATION|3456').toString('base64'), 3456],
    ['without padding', Buffer.from('12|APM|APPLICATION|3456').toString('base64url'), 3456],
    ['of something else', 'xyz', undefined],
    ['that is missing', undefined, undefined],
  ])('finds their application in a guid %s', (_, guid, id) => {
    expect(applicationIdOf(guid)).toBe(id);
  });
});

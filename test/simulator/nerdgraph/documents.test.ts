import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import { call, simulatorOfFile, simulatorOfTest, MINUTE, NOW } from '../client.ts';
import { ACCOUNT, ask, body, nrql, send, V, TO } from './client.ts';

const COUNT = `SELECT count(${V}) AS c FROM Metric WHERE appId = 1000001 SINCE ${TO - 60_000} UNTIL ${TO}`;
const ACCOUNTS = '{"query":"{ actor { accounts { id } } }"}';

const simulator = await simulatorOfFile();

describe('a document', () => {
  it('is executed with aliases, fragments, variables, directives and several fields', async () => {
    const query = `
      query Both($id: Int!, $more: Boolean!, $nrql: Nrql!) {
        who: actor { list: accounts { ...account } one: account(id: $id) {
          ...on Account { number: id name @include(if: $more) }
          first: nrql(query: $nrql) { results } second: nrql(query: "${COUNT} LIMIT 3", timeout: 5) { results __typename }
        } }
      }
      fragment account on AccountOutline { id }`;
    const found = await body(simulator, query, { id: ACCOUNT, more: false, nrql: COUNT });
    const rows = { results: [{ c: expect.any(Number) as number }] };
    expect(found).toEqual({
      data: {
        who: {
          list: [{ id: ACCOUNT }],
          one: { number: ACCOUNT, first: rows, second: { ...rows, __typename: 'NrdbResultContainer' } },
        },
      },
    });
  });

  it.each([
    ['{ actor { accounts { id ', /Syntax Error/],
    ['{ actor { secrets } }', /Cannot query field "secrets"/],
    ['query ($id: Int!) { actor { account(id: $id) { id } } }', /"\$id" of required type "Int!" was not provided/],
    ['{ actor { account(id: "5") { id } } }', /Int cannot represent/],
  ])('with a fault gets 200 with errors: %s', async (query, message) => {
    const { data, errors } = await body(simulator, query);
    expect(data).toBeUndefined();
    expect(errors![0]!.message).toMatch(message);
  });

  it('has null and an error for a failing field, and complete values for the other fields', async () => {
    const query = `query ($id: Int!) { actor {
      accounts { id }
      good: account(id: $id) { nrql(query: "${COUNT}") { results } }
      bad: account(id: $id) { name wrong: nrql(query: "SELECT nothing") { results } }
      other: account(id: 99) { name }
    } }`;
    const { data, errors } = await body(simulator, query, { id: ACCOUNT });
    expect(data!.actor).toMatchObject({
      accounts: [{ id: ACCOUNT }],
      good: { nrql: { results: [{ c: expect.any(Number) as number }] } },
      bad: { name: 'Simulator', wrong: null },
      other: null,
    });
    expect(errors).toMatchObject([
      { path: ['actor', 'bad', 'wrong'], extensions: { errorClass: 'INVALID_INPUT' } },
      { path: ['actor', 'other'], message: 'You are not authorized to query account 99' },
    ]);
  });
});

describe('an account that the key does not list', () => {
  it('has no entities, and no NRQL', async () => {
    const other = await simulatorOfTest({ accounts: [{ id: 99, name: 'Another' }] });
    const { data, errors } = await body(
      other,
      `query ($id: Int!) { actor {
        accounts { id }
        entitySearch(query: "domain = 'APM' AND accountId = ${ACCOUNT}") { count }
        account(id: $id) { nrql(query: "${COUNT}") { results } }
      } }`,
      { id: ACCOUNT },
    );
    expect(data!.actor).toEqual({ accounts: [{ id: 99 }], entitySearch: { count: 0 }, account: null });
    const extensions = { errorClass: 'SERVER_ERROR', classification: 'DataFetchingException' };
    expect(errors).toMatchObject([{ message: `You are not authorized to query account ${ACCOUNT}`, extensions }]);
  });
});

describe('the GraphQL call', () => {
  it('gets a compressed response when it accepts gzip', async () => {
    const [plain, compressed] = await Promise.all(
      ['identity', 'gzip'].map((encoding) =>
        fetch(`${simulator.url}/graphql`, {
          ...{ method: 'POST', body: ACCOUNTS },
          headers: { 'Api-Key': DEMO_API_KEY, 'Accept-Encoding': encoding },
        }),
      ),
    );
    expect([plain, compressed].map((reply) => reply?.headers.get('content-encoding'))).toEqual([null, 'gzip']);
    expect(await compressed?.json()).toEqual(await plain?.json());
  });

  it('needs a valid key in Api-Key', async () => {
    const wrong = [{}, { 'Api-Key': 'wrong' }, { 'X-Api-Key': DEMO_API_KEY }];
    for (const headers of wrong) {
      const reply = await send(simulator, '{ actor { accounts { id } } }', {}, headers);
      expect([reply.status, reply.text]).toEqual([401, '{"errors":[{"message":"authentication required"}]}']);
    }
  });

  it('is a POST with a JSON object', async () => {
    const url = `${simulator.url}/graphql`;
    const headers = { 'Api-Key': DEMO_API_KEY };
    expect((await call(url, { headers })).status).toBe(405);
    for (const text of ['', 'no JSON', '[]', '{"query": 5}']) {
      expect((await call(url, { method: 'POST', headers, body: text })).status).toBe(400);
    }
  });

  it('gets 429 beyond 25 calls at once with all keys of one user, independent of other users', async () => {
    const busy = await simulatorOfTest({ apiKeys: [DEMO_API_KEY, 'second', 'another'], users: { another: 2 } });
    busy.faults.add({ effect: 'hang', times: 25 });
    const aborting = new AbortController();
    setMaxListeners(0, aborting.signal);
    const status = async (key = DEMO_API_KEY, signal?: AbortSignal): Promise<number> => {
      const headers = { 'Api-Key': key };
      return (await call(`${busy.url}/graphql`, { method: 'POST', headers, body: ACCOUNTS, signal })).status;
    };
    const hanging = Promise.allSettled(Array.from({ length: 25 }, () => status(DEMO_API_KEY, aborting.signal)));
    await expect.poll(() => busy.faults.entries()[0]!.matched).toBe(25);
    expect([await status(), await status('second'), await status('another')]).toEqual([429, 429, 200]);
    aborting.abort();
    await hanging;
    await expect.poll(() => busy.requests.running).toBe(0);
    expect(await status()).toBe(200);
  });

  it('gets an error beyond the limit of NRQL queries in a minute of the clock', async () => {
    let now = NOW;
    const limited = await simulatorOfTest({ now: () => now, nrqlPerMinute: 2 });
    const outcome = async () => (await ask(limited, COUNT)).errors?.[0]?.extensions?.['errorClass'];
    expect([await outcome(), await outcome(), await outcome()]).toEqual([undefined, undefined, 'TOO_MANY_REQUESTS']);
    now += MINUTE;
    expect(await outcome()).toBeUndefined();
  });

  it('gets 429 beyond 120 identical NRQL queries of one key in a minute of the clock', async () => {
    let now = NOW;
    const limited = await simulatorOfTest({ now: () => now, apiKeys: [DEMO_API_KEY, 'another'] });
    const query = (text: string) => `{ actor { account(id: ${ACCOUNT}) { nrql(query: "${text}") { results } } } }`;
    const status = async (text: string, key = DEMO_API_KEY): Promise<number> =>
      (await send(limited, query(text), {}, { 'Api-Key': key })).status;
    const repeated = 'SELECT count(*) FROM PageView';
    for (let calls = 1; calls <= 120; calls += 1) expect(await status(repeated)).toBe(200);
    expect(await status(repeated)).toBe(429);
    expect([await status(`${repeated} LIMIT 5`), await status(repeated, 'another')]).toEqual([200, 200]);
    now += MINUTE;
    expect(await status(repeated)).toBe(200);
  });

  it('appears in the log with its requests and their numbers of rows, without the key', async () => {
    simulator.requests.clear();
    await nrql(simulator, COUNT);
    await ask(simulator, 'SELECT nothing');
    await body(simulator, '{ actor { accounts { id } entitySearch(query: "type = \'KEY_TRANSACTION\'") { count } } }');
    const reply = await call(`${simulator.url}/control/requests`);
    expect(reply.text).not.toContain(DEMO_API_KEY);
    const log = JSON.parse(reply.text) as { by_kind: unknown; newest: { path: string; operations: unknown }[] };
    expect(log.by_kind).toEqual({ graphql_nrql: 2, graphql_accounts: 1 });
    const error = expect.stringContaining('NRQL Syntax Error') as string;
    expect(log.newest.map(({ operations }) => operations)).toEqual([
      [{ kind: 'graphql_nrql', text: COUNT, rows: 1 }],
      [{ kind: 'graphql_nrql', text: 'SELECT nothing', error }],
      [
        { kind: 'graphql_accounts', text: '', rows: 1 },
        { kind: 'graphql_key_transactions', text: "type = 'KEY_TRANSACTION'", rows: 8 },
      ],
    ]);
    expect(new Set(log.newest.map(({ path }) => path))).toEqual(new Set(['/graphql']));
  });
});

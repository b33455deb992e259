import { afterEach, describe, expect, it } from 'vitest';
import type { FaultRuleInput } from '../../../simulator/faults/faultRules.ts';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import { call, GOOD, simulatorOfFile } from '../client.ts';
import { type GraphqlBody, ACCOUNT, ask, body, nrql, send, V, TO } from './client.ts';
import { APPLICATIONS, KEY_TRANSACTIONS, search } from './client.ts';

const query = (ids: string) =>
  `SELECT count(${V}) AS c FROM Metric WHERE appId IN (${ids}) AND metricTimesliceName IN ('HttpDispatcher', 'Apdex')
   FACET appId, metricTimesliceName SINCE ${TO - 60_000} UNTIL ${TO} LIMIT MAX`;
const BOTH = query('1000001, 1000002');

const simulator = await simulatorOfFile();
afterEach(() => simulator.faults.clear());

const rule = (input: FaultRuleInput) => simulator.faults.add(input);
const error = ({ errors }: GraphqlBody): unknown => errors?.[0]?.extensions?.['errorClass'];

describe('a fault on a GraphQL call', () => {
  it.each([
    ['graphql_user', '{ actor { user { id } } }'],
    ['graphql_accounts', '{ actor { accounts { id } } }'],
    ['graphql_applications', `{ actor { entitySearch(query: "${APPLICATIONS}") { count } } }`],
    ['graphql_key_transactions', `{ actor { entitySearch(query: "${KEY_TRANSACTIONS}") { count } } }`],
    ['graphql_entities', '{ actor { entities(guids: []) { guid } } }'],
    ['graphql_entity_list', `{ actor { entitySearch(query: "domain = 'INFRA' AND type = 'HOST'") { count } } }`],
    [
      'graphql_nrql',
      `{ actor { account(id: ${ACCOUNT}) { nrql(query: "SELECT count(${V}) FROM Metric") { results } } } }`,
    ],
  ] as const)('applies only to calls of its kind: %s', async (on, document) => {
    rule({ effect: 'status', status: 500, on });
    expect((await send(simulator, document)).status).toBe(500);
    expect((await send(simulator, `{ actor { account(id: ${ACCOUNT}) { name } } }`)).status).toBe(200);
    expect((await call(`${simulator.url}/v2/applications.json`)).status).toBe(200);
    simulator.faults.clear();
    rule({ effect: 'status', status: 500, on: 'applications' });
    expect((await send(simulator, document)).status).toBe(200);
  });

  it('applies to queries that name its application', async () => {
    rule({ effect: 'graphql-error', class: 'TIMEOUT', app: 1_000_002 });
    expect(error(await ask(simulator, BOTH))).toBe('TIMEOUT');
    expect(error(await ask(simulator, query('1000002')))).toBe('TIMEOUT');
    expect(error(await ask(simulator, query('1000001')))).toBeUndefined();
    const others = `SELECT count(${V}) FROM Metric WHERE appId = 1000001 AND appId != 1000002`;
    expect(error(await ask(simulator, others))).toBeUndefined();
  });

  it('applies to queries whose text matches its path', async () => {
    rule({ effect: 'graphql-error', path: '/graphql *Apdex*' });
    expect(error(await ask(simulator, BOTH))).toBe('SERVER_ERROR');
    expect(error(await ask(simulator, `SELECT count(${V}) FROM Metric WHERE appId = 1000001`))).toBeUndefined();
  });

  it('of one interface does not apply to the other interface', async () => {
    rule({ effect: 'graphql-error' });
    expect((await call(`${simulator.url}/v2/applications.json`)).status).toBe(200);
    expect(error(await ask(simulator, BOTH))).toBe('SERVER_ERROR');
  });

  it('graphql-error makes the field null with its class and message, and keeps the other fields', async () => {
    const forbidden = { class: 'FORBIDDEN', message: 'not authorized' };
    rule({ effect: 'graphql-error', ...forbidden, on: 'graphql_applications', times: 1 });
    const document = `{ actor { accounts { id } entitySearch(query: "${APPLICATIONS}") { count } } }`;
    expect(await body(simulator, document)).toMatchObject({
      data: { actor: { accounts: [{ id: ACCOUNT }], entitySearch: null } },
      errors: [{ message: 'not authorized', path: ['actor', 'entitySearch'], extensions: { errorClass: 'FORBIDDEN' } }],
    });
    expect((await body(simulator, document)).errors).toBeUndefined();
    rule({ effect: 'graphql-error', class: 'BAD_API_KEY' });
    expect((await body(simulator, document)).errors![0]!.extensions).toEqual({ error_code: 'BAD_API_KEY' });
  });

  it('null-alias gives null without an error for the field, the account or the actor', async () => {
    rule({ effect: 'null-alias', on: 'graphql_nrql', times: 1 });
    expect(await ask(simulator, BOTH)).toEqual({ data: { actor: { account: { nrql: null } } } });
    rule({ effect: 'null-alias', level: 'account', times: 1 });
    expect(await ask(simulator, BOTH)).toEqual({ data: { actor: { account: null } } });
    rule({ effect: 'null-alias', level: 'actor', times: 1 });
    expect(await ask(simulator, BOTH)).toEqual({ data: { actor: null } });
    expect((await nrql(simulator, BOTH)).results).toHaveLength(4);
  });

  it('truncate moves half of the rows, or all but a number of them, into otherResult', async () => {
    const { results } = await nrql(simulator, BOTH);
    rule({ effect: 'truncate', times: 1 });
    const half = await nrql(simulator, BOTH);
    expect(half.results).toEqual(results.slice(0, 2));
    expect(half.otherResult).toEqual({ c: (results[2]!['c'] as number) + (results[3]!['c'] as number) });
    rule({ effect: 'truncate', rows: 3 });
    expect((await nrql(simulator, BOTH)).results).toHaveLength(3);
    const found = await search(simulator, APPLICATIONS);
    expect([found.count, found.results.entities.length]).toEqual([16, 3]);
  });

  it('message adds a message to the rows of a result', async () => {
    const { results } = await nrql(simulator, BOTH);
    rule({ effect: 'message', times: 1 });
    const told = await nrql(simulator, BOTH);
    expect(told.results).toEqual(results);
    expect(told.metadata.messages).toEqual([expect.stringContaining('maximum result member limit')]);
    rule({ effect: 'message', text: 'rolled up', times: 1 });
    expect((await nrql(simulator, BOTH)).metadata.messages).toEqual(['rolled up']);
    expect((await nrql(simulator, BOTH)).metadata.messages).toEqual([]);
  });

  it('endless-pages, repeat-next and repeat-ids give wrong pages of a search', async () => {
    rule({ effect: 'endless-pages', times: 2 });
    const first = (await search(simulator, APPLICATIONS)).results;
    const second = (await search(simulator, APPLICATIONS, { cursor: first.nextCursor })).results;
    expect(second.entities.length).toBeGreaterThan(0);
    expect(second.nextCursor).not.toBe(first.nextCursor);
    rule({ effect: 'repeat-next', times: 2 });
    const { nextCursor } = (await search(simulator, APPLICATIONS)).results;
    expect((await search(simulator, APPLICATIONS, { cursor: nextCursor })).results.nextCursor).toBe(nextCursor);
    rule({ effect: 'repeat-ids' });
    const guids = (await search(simulator, APPLICATIONS)).results.entities.map(({ guid }) => guid);
    expect([guids.length, new Set(guids).size]).toEqual([32, 16]);
  });

  it('nulls replace figures, but not ids and times', async () => {
    rule({ effect: 'nulls', times: 2 });
    const rows = await nrql(simulator, BOTH);
    expect(rows.results[0]).toMatchObject({ facet: ['1000001', 'HttpDispatcher'], c: null });
    expect(rows.metadata.timeWindow).toMatchObject({ begin: TO - 60_000, end: TO });
    const [entity] = (await search(simulator, APPLICATIONS)).results.entities;
    expect(entity).toMatchObject({ applicationId: 1_000_001, settings: { apdexTarget: null }, accountId: ACCOUNT });
    expect(entity!['apmSummary']).toMatchObject({ hostCount: null, throughput: null });
  });

  it('bad-record damages only the first row or entity', async () => {
    rule({ effect: 'bad-record', times: 2 });
    const { results } = await nrql(simulator, BOTH);
    expect(results.map(({ facet }) => facet === null)).toEqual([true, false, false, false]);
    const { entities } = (await search(simulator, APPLICATIONS)).results;
    expect(entities[0]).toMatchObject({ guid: null, applicationId: 'not a number', tags: null });
    expect(entities[1]).toMatchObject({ applicationId: 1_000_002 });
  });

  it('invalid-key answers 401 with the key in the body, payment-required 402', async () => {
    rule({ effect: 'invalid-key', times: 1 });
    const refused = await send(simulator, '{ actor { accounts { id } } }');
    expect(refused.status).toBe(401);
    for (const told of [DEMO_API_KEY, 'BAD_API_KEY']) expect(refused.text).toContain(told);
    rule({ effect: 'payment-required' });
    const unpaid = await send(simulator, '{ actor { accounts { id } } }');
    expect([unpaid.status, unpaid.text]).toEqual([402, '{"errors":[{"message":"Payment Required"}]}']);
    const rest = await call(`${simulator.url}/v2/applications.json`, { headers: GOOD });
    expect([rest.status, rest.text]).toEqual([402, '{"error":{"title":"Payment Required"}}']);
  });

  it('wrong-shape replaces the data by a text', async () => {
    rule({ effect: 'wrong-shape' });
    expect((await send(simulator, '{ actor { accounts { id name } } }')).text).toBe('{"data":"unexpected"}');
  });
});

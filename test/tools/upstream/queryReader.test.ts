import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { endsBefore } from '../../../src/collect/inventory/task.ts';
import type { Outcome, QueryResult } from '../../../src/api/upstreamReader.ts';
import { prepareQueries, type QueryDefinition } from '../../../src/metrics/queryFamilies.ts';
import { configOf } from '../../config/reading.ts';
import { readAll } from '../../api/support/reading.ts';
import { json, listen } from '../../api/support/testServer.ts';
import { FREE_CALL, openedReader } from './support.ts';

const HOUR = 3_600;
const TO = 1_790_000_040;
const RANGE = { from: TO - 1_800, to: TO };

/** A request that the server got. */
interface SentRequest {
  readonly path: string | undefined;
  readonly key: unknown;
  readonly otherKey: unknown;
  readonly variables: { readonly account: number; readonly nrql: string };
}

const DEFINITION: QueryDefinition = {
  name: 'orders',
  nrql: 'SELECT count(*) FROM Order FACET region -- all',
  metrics: [{ name: 'shop_orders', help: 'Orders', scale: 1 }],
  interval: 60_000,
  max_series: 5_000,
};

let asked: SentRequest[];
let answer: (begin: number, end: number) => object;

/** Reads the query through an account of the REST interface, from a server that answers as `answer` says. */
async function read(over: Partial<QueryDefinition> = {}, more: object = {}): Promise<Outcome<QueryResult> | undefined> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { variables } = JSON.parse(body) as Pick<SentRequest, 'variables'>;
      const { headers, url } = request;
      asked.push({ path: url, key: headers['api-key'], otherKey: headers['x-api-key'], variables });
      const [begin, end] = [...variables.nrql.matchAll(/(?:SINCE|UNTIL) (\d+)/g)].map(([, time]) => Number(time));
      json(response, { data: { actor: { account: { nrql: answer(begin ?? 0, end ?? 0) } } } });
    });
  });
  const { port, close } = await listen(server);
  const definition = { ...DEFINITION, ...over };
  const file = {
    api: 'rest',
    base_url: `http://127.0.0.1:${port}/${'api' in more && more.api === 'nerdgraph' ? 'graphql' : 'v2'}`,
    api_key: 'NRAK-TEST',
    account_id: 77,
    limits: { max_retries: 0 },
    ...more,
  };
  const config = configOf(JSON.stringify({ accounts: [file] }));
  const [account] = config.accounts;
  if (account === undefined) throw new Error('there is no account');
  const { reader } = openedReader({ ...account, queries: [definition] }, config);
  onTestFinished(async () => {
    await reader.close();
    await close();
  });
  const rules = prepareQueries([definition])[0]?.rules;
  if (rules === undefined || reader.queries === undefined) throw new Error('the account has no queries');
  const window = definition.window === undefined ? undefined : definition.window / 1000;
  const before = endsBefore(definition.delay, config.collection.delay);
  const subject = { nrql: definition.nrql, window, endsBefore: before, rules };
  const [outcome] = await readAll(reader.queries, [subject], RANGE, FREE_CALL);
  return outcome;
}

const answered =
  (rows: readonly object[], more: object = {}, earlier = 0) =>
  (begin: number, end: number) => ({
    results: rows,
    otherResult: null,
    metadata: { facets: ['region'], messages: [], timeWindow: { begin: begin - earlier, end: end - earlier } },
    ...more,
  });

const MOST_ROWS = Array.from({ length: 5_000 }, (_, n) => ({ facet: String(n), count: 1 }));

const failureOf = (outcome: Outcome<QueryResult> | undefined): string | undefined =>
  outcome !== undefined && 'error' in outcome ? outcome.error.failure.reason : undefined;

beforeEach(() => {
  asked = [];
  answer = answered([{ facet: 'eu', region: 'eu', count: 3 }]);
});

describe('a query of an account of the REST interface', () => {
  it('makes one call to NerdGraph of the same region, with Api-Key, and time and limit on a new line', async () => {
    const outcome = await read();
    expect(asked).toEqual([
      {
        path: '/graphql',
        key: 'NRAK-TEST',
        otherKey: undefined,
        variables: {
          account: 77,
          nrql: `${DEFINITION.nrql}\nSINCE ${RANGE.from * 1000} UNTIL ${TO * 1000} LIMIT MAX`,
          timeout: expect.any(Number) as number,
        },
      },
    ]);
    expect(outcome).toMatchObject({
      value: { window: RANGE, reading: { series: [[{ labels: { region: 'eu' }, value: 3 }]] } },
    });
  });

  it.each(['rest', 'nerdgraph'])('sends Api-Key over %s, also where the account sends X-Api-Key', async (api) => {
    await read({}, { api, api_key_header: 'X-Api-Key' });
    expect(asked.map(({ key, otherKey }) => [key, otherKey])).toEqual([['NRAK-TEST', undefined]]);
  });

  it('ends before now by its delay, with its own window or the default window', async () => {
    // The range ends 2 minutes ago, as the configuration says.
    const outcome = await read({ delay: 4 * HOUR * 1000 });
    await read({ delay: 60_000, window: HOUR * 1000 });
    const [late, early] = [TO - 4 * HOUR + 120, TO + 60];
    expect(asked.map(({ variables: { nrql } }) => nrql.split('\n')[1])).toEqual([
      `SINCE ${(late - 1_800) * 1000} UNTIL ${late * 1000} LIMIT MAX`,
      `SINCE ${(early - HOUR) * 1000} UNTIL ${early * 1000} LIMIT MAX`,
    ]);
    expect(outcome).toMatchObject({ value: { window: { from: late - 1_800, to: late } } });
  });

  it('has its own window and limit', async () => {
    await read({ window: 30 * 24 * HOUR * 1000, limit: 20 });
    const since = (TO - 30 * 24 * HOUR) * 1000;
    expect(asked[0]?.variables.nrql).toContain(`\nSINCE ${since} UNTIL ${TO * 1000} LIMIT 20`);
  });

  it.each([
    ['ends 6 minutes earlier', 360_000, undefined, 'invalid_response'],
    ['of a day ends 10 minutes earlier', 600_000, 24 * HOUR * 1000, undefined],
    ['of a day ends 11 minutes earlier', 660_000, 24 * HOUR * 1000, 'invalid_response'],
  ])('is judged by the window of the response, which %s', async (_what, earlier, window, reason) => {
    answer = answered([{ facet: 'eu', count: 3 }], {}, earlier);
    expect(failureOf(await read({ window }))).toBe(reason);
  });

  it.each([
    ['something in otherResult', answered([], { otherResult: { count: 1 } }), 'too_large'],
    ['as many rows as New Relic returns', answered(MOST_ROWS), 'too_large'],
    ['rows whose facets cannot be read', answered([{ count: 1 }]), 'invalid_response'],
    ['no rows', () => ({ metadata: {} }), 'invalid_response'],
  ])('fails with %s', async (_what, reply, reason) => {
    answer = reply;
    expect(failureOf(await read())).toBe(reason);
  });
});

import { describe, expect, it } from 'vitest';
import { read, records, simulatorOfFile } from '../client.ts';
import type { Entity } from './client.ts';
import { ACCOUNT, APPLICATIONS, body, KEY_TRANSACTIONS, search } from './client.ts';

const simulator = await simulatorOfFile({ applications: 450, keyTransactions: 60, rounding: false });

async function all(query: string, limit?: number): Promise<{ readonly pages: number[]; readonly entities: Entity[] }> {
  const pages: number[] = [];
  const entities: Entity[] = [];
  let cursor: string | null = null;
  do {
    const { results } = await search(simulator, query, { cursor, limit });
    pages.push(results.entities.length);
    entities.push(...results.entities);
    cursor = results.nextCursor;
  } while (cursor !== null);
  return { pages, entities };
}

const decode = (guid: string): string => Buffer.from(guid, 'base64').toString();

describe('an entity search', () => {
  it('gives pages of 200, or fewer with a limit', async () => {
    const { pages, entities } = await all(APPLICATIONS);
    expect(pages).toEqual([200, 200, 50]);
    expect(new Set(entities.map(({ guid }) => guid)).size).toBe(450);
    expect((await search(simulator, APPLICATIONS)).count).toBe(450);
    expect((await all(APPLICATIONS, 300)).pages).toEqual([200, 200, 50]);
    expect((await all(APPLICATIONS, 150)).pages).toEqual([150, 150, 150]);
  });

  it.each([
    [`domain = 'APM' AND domainId = '1000003'`, ['Legacy ERP']],
    [`name LIKE 'legacy' AND accountId = ${ACCOUNT} AND domainId IN ('1000003', '1000004')`, ['Legacy ERP']],
    [`domain = 'APM' AND accountId = 99`, []],
    [`domain = 'MOBILE'`, []],
    [`domainId = 1000013 AND reporting = 'false'`, ['Retired intranet']],
  ])('finds by %s', async (query, names) => {
    const { results } = await search(simulator, query);
    expect(results.entities.map(({ name }) => name)).toEqual(names);
  });

  it('rejects an invalid condition', async () => {
    await expect(search(simulator, `name ~ 'x'`)).rejects.toThrow('unexpected');
  });

  // What applications and key transactions have besides: test/e2e/values.test.ts.
  it('gives the figures of applications as the REST interface, in seconds', async () => {
    const { entities } = await all(APPLICATIONS);
    const { applications } = await read(simulator, '/v2/applications.json');
    records({ applications }, 'applications').forEach((rest, index) => {
      const summary = rest['application_summary'] as Record<string, number> | undefined;
      const apm = entities[index]!['apmSummary'] as Record<string, number> | null;
      expect(apm === null).toBe(summary === undefined);
      if (apm === null || summary === undefined) return;
      expect(apm['webResponseTimeAverage']! * 1000).toBeCloseTo(summary['response_time']!, 9);
      expect(apm['hostCount']).toBe(2);
    });
  });

  it('gives guids of applications that contain their ids, and of key transactions with other numbers', async () => {
    const [application, key] = [await search(simulator, APPLICATIONS), await search(simulator, KEY_TRANSACTIONS)];
    expect(decode(application.results.entities[0]!.guid)).toBe(`${ACCOUNT}|APM|APPLICATION|1000001`);
    const { guid, tags } = key.results.entities[0]!;
    expect(tags).toContainEqual({ key: 'keyTransactionId', values: ['5000001'] });
    expect(decode(guid)).toMatch(/^1234567\|EXT\|KEY_TRANSACTION\|(?!5000001$)\d+$/);
  });
});

describe('entities by guid', () => {
  const DOCUMENT = `query ($guids: [EntityGuid]!) { actor { entities(guids: $guids) { guid name reporting
    ... on KeyTransactionEntity { apdexTarget browserApdexTarget metricName application { guid entity { name } } } } } }`;
  const entities = async (guids: readonly string[]) => {
    const { data, errors } = await body(simulator, DOCUMENT, { guids });
    return { found: data!.actor!['entities'] as Entity[] | null, errors };
  };

  it('have the guid of their application with and without padding', async () => {
    const listed = (await all(KEY_TRANSACTIONS)).entities;
    const { found } = await entities(listed.slice(0, 3).map(({ guid }) => guid));
    const guids = found!.map((entity) => (entity['application'] as Entity).guid);
    expect([guids[0]!.endsWith('='), guids[1]!.endsWith('=')]).toEqual([false, true]);
    // The application of the third is one that the key cannot see.
    expect(found!.map((entity) => (entity['application'] as { entity: Entity | null }).entity?.name)).toEqual([
      'Storefront',
      'Checkout API',
      undefined,
    ]);
  });

  it('are found also with padding; an unknown guid is left out', async () => {
    const [first] = (await all(KEY_TRANSACTIONS)).entities;
    const padded = Buffer.from(decode(first!.guid)).toString('base64');
    const { found } = await entities([padded, 'bm9uZQ']);
    expect(found!.map(({ name }) => name)).toEqual([first!.name]);
  });

  it('are at most 25 in one call', async () => {
    const guids = (await all(KEY_TRANSACTIONS)).entities.map(({ guid }) => guid);
    expect((await entities(guids.slice(0, 25))).found).toHaveLength(25);
    const { found, errors } = await entities(guids.slice(0, 26));
    expect(found).toBeNull();
    expect(errors![0]!.message).toContain('At most 25 guids');
  });
});

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
    const { results } = await search(simulator, query, { cursor, ...(limit === undefined ? {} : { limit }) });
    pages.push(results.entities.length);
    entities.push(...results.entities);
    cursor = results.nextCursor;
  } while (cursor !== null);
  return { pages, entities };
}

const decode = (guid: string): string => Buffer.from(guid, 'base64').toString();

describe('an entity search', () => {
  it('comes in pages of 200, which a limit can make smaller, not larger', async () => {
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

  it('refuses what is no condition', async () => {
    await expect(search(simulator, `name ~ 'x'`)).rejects.toThrow('unexpected');
  });

  it('gives applications as the REST interface knows them', async () => {
    const { entities } = await all(APPLICATIONS);
    const { applications } = await read(simulator, '/v2/applications.json');
    const severities = { red: 'CRITICAL', orange: 'WARNING', green: 'NOT_ALERTING', unknown: 'NOT_CONFIGURED' };
    expect(records({ applications }, 'applications')).toHaveLength(200);
    records({ applications }, 'applications').forEach((rest, index) => {
      const entity = entities[index]!;
      expect(decode(entity.guid)).toBe(`${ACCOUNT}|APM|APPLICATION|${String(rest['id'])}`);
      const settings = rest['settings'] as Record<string, unknown>;
      expect(entity).toMatchObject({
        name: rest['name'],
        applicationId: rest['id'],
        accountId: ACCOUNT,
        domain: 'APM',
        type: 'APPLICATION',
        settings: {
          apdexTarget: settings['app_apdex_threshold'],
          serverSideConfig: settings['use_server_side_config'],
        },
      });
      expect(entity['language']).not.toBe(rest['language']);
      expect(String(entity['language']).toLowerCase()).toBe(rest['language']);
      const summary = rest['application_summary'] as Record<string, number> | undefined;
      const apm = entity['apmSummary'] as Record<string, number> | null;
      expect(apm === null).toBe(summary === undefined);
      if (apm !== null && summary !== undefined) {
        expect(apm['webResponseTimeAverage']! * 1000).toBeCloseTo(summary['response_time']!, 9);
        expect(apm['hostCount']).toBe(2);
      }
      if (rest['health_status'] !== 'gray') {
        expect(entity['alertSeverity']).toBe(severities[rest['health_status'] as keyof typeof severities]);
      }
    });
    expect(entities[12]).toMatchObject({ name: 'Retired intranet', reporting: false, apmSummary: null });
    // Of some it is not known whether they report.
    expect(entities[2]).toMatchObject({ name: 'Legacy ERP', reporting: null });
    expect(entities[0]!['reporting']).toBe(true);
  });

  it('gives key transactions with the id of the REST interface in a tag, not in the guid', async () => {
    const { entities } = await all(KEY_TRANSACTIONS);
    expect(entities).toHaveLength(60);
    const [first] = entities;
    const ids = (first!['tags'] as { key: string; values: string[] }[]).find(({ key }) => key === 'keyTransactionId');
    expect(ids!.values).toEqual(['5000001']);
    expect(decode(first!.guid)).toMatch(/^1234567\|EXT\|KEY_TRANSACTION\|\d+$/);
    expect(decode(first!.guid)).not.toMatch(/\|5000001$/);
    expect(entities.slice(3, 5).map(({ reporting, severity }) => [reporting, severity])).toEqual([
      [null, null],
      [false, 'NOT_CONFIGURED'],
    ]);
  });
});

describe('entities by guid', () => {
  const DOCUMENT = `query ($guids: [EntityGuid]!) { actor { entities(guids: $guids) { guid name reporting
    ... on KeyTransactionEntity { apdexTarget browserApdexTarget metricName application { guid entity { name } } } } } }`;
  const entities = async (guids: readonly string[]) => {
    const { data, errors } = await body(simulator, DOCUMENT, { guids });
    return { found: data!.actor!['entities'] as Entity[] | null, errors };
  };

  it('are the whole key transactions, the guid of the application with and without padding', async () => {
    const listed = (await all(KEY_TRANSACTIONS)).entities;
    const { found } = await entities(listed.slice(0, 3).map(({ guid }) => guid));
    const { key_transactions } = await read(simulator, '/v2/key_transactions.json');
    records({ key_transactions }, 'key_transactions')
      .slice(0, 3)
      .forEach((rest, index) => {
        const entity = found![index]!;
        const summary = rest['application_summary'] as Record<string, number>;
        expect(entity).toMatchObject({ metricName: rest['transaction_name'], apdexTarget: summary['apdex_target'] });
        const { guid } = entity['application'] as Entity;
        expect(decode(guid).split('|').at(-1)).toBe(String((rest['links'] as Record<string, number>)['application']));
      });
    const guids = found!.map((entity) => (entity['application'] as Entity).guid);
    expect([guids[0]!.endsWith('='), guids[1]!.endsWith('=')]).toEqual([false, true]);
    // The application of the third is one that the key cannot see.
    expect(found!.map((entity) => (entity['application'] as { entity: Entity | null }).entity?.name)).toEqual([
      'Storefront',
      'Checkout API',
      undefined,
    ]);
  });

  it('are found with padding too; an unknown one is left out', async () => {
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

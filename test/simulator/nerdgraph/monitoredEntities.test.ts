import { describe, expect, it } from 'vitest';
import { goldenQuery, readDefinition, recordId, type GoldenDefinition } from '../../../src/nrql/goldenMetric.ts';
import { simulatorOfFile, MINUTE } from '../client.ts';
import { ACCOUNT, body, nrql, TO, V, type Row } from './client.ts';

const simulator = await simulatorOfFile();
const RANGE = { from: TO / 1000 - 300, to: TO / 1000 };

interface Found {
  readonly count: number;
  readonly types: readonly Row[];
  readonly results: { readonly entities: readonly Entity[] };
}
interface Entity {
  readonly guid: string;
  readonly name: string;
  readonly reporting: boolean | null;
  readonly goldenMetrics: {
    readonly metrics: readonly { readonly name: string; readonly definition: GoldenDefinition }[];
  };
}

async function find(query: string): Promise<Found> {
  const document = `query ($query: String) { actor { entitySearch(query: $query) { count types { domain type count }
    results { entities { guid name reporting alertSeverity goldenMetrics { metrics {
      name title unit definition { select from where eventId eventObjectId }
    } } } } } } }`;
  const { data } = await body(simulator, document, { query });
  return data!.actor!['entitySearch'] as Found;
}

async function entitiesOf(domain: string, type: string): Promise<readonly Entity[]> {
  return (await find(`domain = '${domain}' AND type = '${type}' AND accountId = ${ACCOUNT}`)).results.entities;
}

/** The values of one golden metric by the name of its entity, as the exporter asks for them. */
async function values(entities: readonly Entity[], metric: string): Promise<Readonly<Record<string, unknown>>> {
  const all: Record<string, unknown> = {};
  for (const { guid, name, goldenMetrics } of entities) {
    const found = goldenMetrics.metrics.find((each) => each.name === metric);
    if (found === undefined) continue;
    const { source, select } = readDefinition(found.definition);
    const id = recordId(guid, source.eventObjectId)!;
    const { results, metadata } = await nrql(simulator, goldenQuery(source, [select], [id], RANGE, 'mixed'));
    // New Relic would have one for count(*) of metrics, in every answer.
    expect(metadata.messages).toEqual([]);
    expect(results.length).toBeLessThanOrEqual(1);
    if (results[0] !== undefined) expect(String(results[0]['facet'])).toBe(id);
    all[name] = results[0]?.['m0'];
  }
  return all;
}

describe('entities of other types', () => {
  it('are counted by type', async () => {
    const { types, count } = await find(`accountId = ${ACCOUNT}`);
    expect(types.map((each) => [each['domain'], each['type'], each['count']].join(' ')).toSorted()).toEqual([
      ...['APM APPLICATION 16', 'BROWSER APPLICATION 5'],
      ...['EXT KEY_TRANSACTION 8', 'EXT SERVICE 16', 'INFRA HOST 30'],
    ]);
    expect(count).toBe(75);
  });

  it('include services whose metrics come from the traffic of their applications', async () => {
    const services = await entitiesOf('EXT', 'SERVICE');
    expect(services.filter(({ reporting }) => reporting === false).map(({ name }) => name)).toEqual([
      'retired-intranet',
    ]);
    expect(services.filter(({ reporting }) => reporting === null).map(({ name }) => name)).toEqual(['legacy-erp']);
    const some = services.slice(0, 2);
    const calls = await values(some, 'throughput');
    const milliseconds = await values(some, 'responseTimeMs');
    const errors = await values(some, 'errorRate');
    for (const name of ['storefront', 'checkout-api']) {
      expect(calls[name]).toBeGreaterThan(10);
      expect(milliseconds[name]).toBeGreaterThan(10);
      expect(errors[name]).toBeGreaterThanOrEqual(0);
    }
    const idle = services.filter(({ name }) => name === 'retired-intranet' || name === 'mail-worker');
    expect(await values(idle, 'throughput')).toEqual({ 'retired-intranet': undefined, 'mail-worker': undefined });
  });

  it('include browsers with metrics of several events, one with another id, one with a percentile', async () => {
    const browsers = await entitiesOf('BROWSER', 'APPLICATION');
    expect((await values(browsers, 'throughputPpm'))['Storefront']).toBeGreaterThan(1);
    expect((await values(browsers, 'pageLoadSeconds'))['Forum']).toBeGreaterThan(0.1);
    expect((await values(browsers, 'errors'))['Storefront']).toBeGreaterThan(0);
    expect((await values(browsers, 'largestContentfulPaint75PercentileS'))['Storefront']).toEqual({
      '75': expect.any(Number) as number,
    });
    // Its pages have an agent that delivers nothing.
    expect((await values(browsers, 'throughputPpm'))['Search']).toBeUndefined();
  });

  it('include hosts of two providers, one of which has a condition', async () => {
    const hosts = await entitiesOf('INFRA', 'HOST');
    const cpu = await values(hosts.slice(0, 4), 'cpuUsage');
    const storage = await values(hosts.slice(0, 4), 'storageUsage');
    for (const value of [...Object.values(cpu), ...Object.values(storage)]) {
      expect(value).toBeGreaterThan(0);
      expect(value).toBeLessThanOrEqual(100);
    }
    // Without its condition it would count the file system that is always full.
    expect(storage['checkout-api-2-01']).toBeCloseTo(45);
    expect(await values(hosts.slice(2, 4), 'networkTrafficTx')).toEqual({});
  });

  it('include services of two providers, whose figures agree for the same traffic', async () => {
    const services = await entitiesOf('EXT', 'SERVICE');
    const definitionOf = ({ goldenMetrics }: Entity): string => goldenMetrics.metrics[0]?.definition.select ?? '';
    const [micrometer, ...others] = services.filter((each) => definitionOf(each).includes('http.server.requests'));
    expect(others).toEqual([]);
    const { name } = micrometer!;
    const applications = await entitiesOf('APM', 'APPLICATION');
    const application = applications.find((each) => each.name.toLowerCase() === name)!;
    const timeslicesOf = async (metric: string) => {
      const where = `appName = '${application.name}' AND metricTimesliceName = '${metric}'`;
      const time = `SINCE ${RANGE.from * 1000} UNTIL ${RANGE.to * 1000}`;
      const { results } = await nrql(
        simulator,
        `SELECT count(${V}) AS c, sum(${V}) AS t FROM Metric WHERE ${where} ${time}`,
      );
      return results[0] as { readonly c: number; readonly t: number };
    };
    const [calls, errors] = [await timeslicesOf('HttpDispatcher'), await timeslicesOf('Errors/all')];
    const metricValue = async (metric: string): Promise<unknown> => (await values([micrometer!], metric))[name];
    expect(await metricValue('throughput')).toBeCloseTo(calls.c / 5);
    expect(await metricValue('responseTimeMs')).toBeCloseTo((1000 * calls.t) / calls.c);
    expect(await metricValue('errorRate')).toBeCloseTo((100 * errors.c) / calls.c);
  });

  it('have no row where the first column is null, but have a row where a count comes first', async () => {
    const services = await entitiesOf('EXT', 'SERVICE');
    const select = async (name: string, columns: string) => {
      const { guid } = services.find((each) => each.name === name)!;
      const range = `SINCE ${TO - 5 * MINUTE} UNTIL ${TO} LIMIT MAX`;
      const query = `SELECT ${columns} FROM Metric WHERE entity.guid = '${guid}' FACET entity.guid ${range}`;
      return (await nrql(simulator, query)).results;
    };
    const duration = 'average(apm.service.transaction.duration) AS m0';
    const errors = 'count(apm.service.error.count) AS m1';
    // It has errors and no calls.
    expect(await select('mail-worker', `${duration}, ${errors}`)).toEqual([]);
    expect(await select('mail-worker', `${errors}, ${duration}`)).toMatchObject([{ m0: null }]);
    const mixed = 'metric timeslice data cannot be queried together with other data';
    await expect(select('storefront', `count(*) AS n, ${errors}`)).rejects.toThrow(mixed);
    await expect(select('storefront', `${errors}, average(http.server.requests)`)).rejects.toThrow(mixed);
  });

  it('lose only their golden metrics under a fault of that field, for all entities or one by name', async () => {
    const fault = { effect: 'graphql-error', class: 'FORBIDDEN', on: 'graphql_entity_list', times: 1 } as const;
    const failed = async (entity?: string) => {
      simulator.faults.add({ ...fault, field: 'goldenMetrics', ...(entity === undefined ? {} : { entity }) });
      const services = await entitiesOf('EXT', 'SERVICE');
      return services.filter(({ goldenMetrics }) => (goldenMetrics as unknown) === null).map(({ name }) => name);
    };
    expect(await failed('storefront')).toEqual(['storefront']);
    expect(await failed()).toHaveLength(16);
    expect((await entitiesOf('EXT', 'SERVICE'))[0]?.goldenMetrics.metrics).toHaveLength(3);
  });
});

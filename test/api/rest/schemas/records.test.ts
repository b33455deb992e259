import fc from 'fast-check';
import type * as z from 'zod';
import { describe, expect, it } from 'vitest';
import { application, host, instance, keyTransaction, metricName } from '../../../../src/api/rest/schemas.ts';
import { goldenMetric } from '../../../../src/api/nerdgraph/entityLists.ts';
import { entity } from '../../../../src/api/nerdgraph/entitySearch.ts';
import { Discarded, parseList, parseRecord } from '../../../../src/api/http/validation.ts';

const WHOLE = {
  id: 7,
  name: 'checkout/web [eu]',
  language: 'ruby',
  health_status: 'orange',
  reporting: true,
  last_reported_at: '2026-11-21T01:59:30+00:00',
  application_summary: {
    response_time: 441,
    throughput: 54.7,
    error_rate: 0.02,
    apdex_target: 0.5,
    apdex_score: 0.84,
    host_count: 3,
    instance_count: 30,
    concurrent_instance_count: 12,
  },
  end_user_summary: { response_time: 4.61, throughput: 7, apdex_target: 7, apdex_score: 0.91 },
  settings: {
    app_apdex_threshold: 0.5,
    end_user_apdex_threshold: 7,
    enable_real_user_monitoring: true,
    use_server_side_config: false,
  },
  links: { application_instances: [11, 12], alert_policy: 99, servers: [], application_hosts: [21] },
  unheard_of: { anything: true },
};

/** Reads a record, and returns the result and the words about left out fields. */
function read(value: unknown): { read: ReturnType<typeof application.parse> | undefined; words: string | undefined } {
  const leftOut = new Discarded();
  const read = parseRecord(application, value, leftOut, 'applications');
  return { read, words: leftOut.summary() || undefined };
}

describe('an application', () => {
  it('is read with every field', () => {
    expect(read(WHOLE)).toEqual({
      words: undefined,
      read: {
        id: 7,
        name: 'checkout/web [eu]',
        language: 'ruby',
        healthStatus: 'orange',
        reporting: true,
        lastReportedAt: 1_795_226_370,
        summary: {
          responseTime: 0.441,
          requestRate: 54.7 / 60,
          errorRate: 0.02,
          apdexTarget: 0.5,
          apdexScore: 0.84,
          hostCount: 3,
          instanceCount: 30,
          concurrentInstanceCount: 12,
        },
        endUserSummary: { responseTime: 4.61, requestRate: 7 / 60, apdexTarget: 7, apdexScore: 0.91 },
        ...{ apdexThreshold: 0.5, endUserApdexThreshold: 7, realUserMonitoring: true, serverSideConfig: false },
        alertPolicyId: 99,
        hosts: 1,
        instances: 2,
      },
    });
  });

  it('needs only an id and a name', () => {
    const { read: parsed, words } = read({ id: 7, name: 'idle' });
    expect(parsed).toEqual({ id: 7, name: 'idle' });
    expect(words).toBeUndefined();
  });

  it('counts empty id lists as 0, and absent ones not at all', () => {
    const links = { application_hosts: [], application_instances: [] };
    expect(read({ id: 7, name: 'a', links }).read).toMatchObject({ hosts: 0, instances: 0 });
    expect(read({ id: 7, name: 'a' }).read).not.toMatchObject({ hosts: 0 });
  });

  it.each([['7'], [0], [-1], [1.5], [2 ** 53], [null], [undefined], [true]])('is left out with the id %j', (id) => {
    expect(read({ ...WHOLE, id })).toEqual({
      read: undefined,
      words: 'left out 1 bad record, the first: applications',
    });
  });

  it.each([[''], [5], [null], [undefined], [{}]])('is left out with the name %j', (name) => {
    expect(read({ ...WHOLE, name }).read).toBeUndefined();
  });

  it.each([[null], ['text'], [5], [[]]])('is left out when it is %j', (value) => {
    expect(read(value).read).toBeUndefined();
  });

  const summary = 'application_summary';
  const badFields: [string, unknown][] = [
    ['language', 5],
    ['health_status', ''],
    ['reporting', 'true'],
    ['last_reported_at', 'yesterday'],
    ['last_reported_at', 1_795_226_370],
    [summary, 'none'],
    [`${summary}.response_time`, '441'],
    [`${summary}.response_time`, JSON.parse('1e999')],
    [`${summary}.throughput`, -1],
    [`${summary}.apdex_score`, 1.01],
    [`${summary}.host_count`, 1.5],
    ['end_user_summary.response_time', []],
    ['settings.enable_real_user_monitoring', 1],
    ['links', 'none'],
    ['links.alert_policy', 'none'],
    ['links.application_hosts', [21, 'x']],
    ['links.application_instances', [null]],
  ];

  it('has no value for a null in any optional field, without a fault', () => {
    const { id, name, ...optional } = WHOLE as Readonly<Record<string, unknown>>;
    for (const [field, value] of Object.entries(optional)) {
      expect(read({ ...WHOLE, [field]: null })).toEqual({
        read: read({ ...WHOLE, [field]: undefined }).read,
        words: undefined,
      });
      if (typeof value !== 'object' || value === null) continue;
      for (const inner of Object.keys(value)) {
        const found = read({ ...WHOLE, [field]: { ...value, [inner]: null } });
        expect(found).toEqual({
          read: read({ ...WHOLE, [field]: { ...value, [inner]: undefined } }).read,
          words: undefined,
        });
      }
    }
    const silent = Object.fromEntries(Object.keys(optional).map((field) => [field, null]));
    expect(read({ id, name, ...silent })).toEqual({ read: read({ id, name }).read, words: undefined });
  });

  it.each(badFields)('loses only its %s when that is %j', (path, value) => {
    const [outer = '', inner] = path.split('.');
    const record = structuredClone(WHOLE) as Record<string, unknown>;
    const without = structuredClone(WHOLE) as Record<string, unknown>;
    if (inner === undefined) {
      record[outer] = value;
      without[outer] = undefined;
    } else {
      record[outer] = { ...(record[outer] as object), [inner]: value };
      without[outer] = { ...(without[outer] as object), [inner]: undefined };
    }
    expect(read(record)).toEqual({
      read: read(without).read,
      words: `left out 1 bad value, the first: applications.${path}`,
    });
  });

  it('never throws and never has a number that is not finite, for any record', () => {
    const keys = ['id', 'name', 'application_summary', 'links', 'response_time', 'application_hosts', '__proto__'];
    const any = fc.anything({ key: fc.constantFrom(...keys), maxDepth: 3 });
    fc.assert(
      fc.property(any, (value) => {
        const { read: parsed } = read(
          typeof value === 'object' && value !== null ? { id: 1, name: 'a', ...value } : value,
        );
        const numbers = Object.values(parsed?.summary ?? {}).filter((each) => each !== undefined);
        return numbers.every(Number.isFinite);
      }),
    );
  });
});

describe('a host, an instance and a key transaction', () => {
  it('are read with their own fields', () => {
    const machine = { id: 1, host: 'web-1', language: 'go', health_status: 'green', application_name: 'a' };
    expect(host.parse(machine)).toEqual({ key: '1', host: 'web-1', language: 'go', healthStatus: 'green' });
    expect(instance.parse({ ...machine, port: 0, links: { application_host: 5 } })).toEqual({
      id: 1,
      host: 'web-1',
      language: 'go',
      healthStatus: 'green',
      port: 0,
      hostId: 5,
    });
    expect(
      keyTransaction.parse({ id: 3, name: 'k', transaction_name: 't', reporting: false, links: { application: 7 } }),
    ).toEqual({ id: 3, name: 'k', transactionName: 't', reporting: false, applicationId: 7 });
  });

  it('are left out with a bad id or name', () => {
    const leftOut = new Discarded();
    expect(parseRecord(host, { id: 1 }, leftOut, 'hosts')).toBeUndefined();
    expect(parseRecord(instance, { id: '1', host: 'a' }, leftOut, 'instances')).toBeUndefined();
    expect(parseRecord(keyTransaction, { id: 1, name: null }, leftOut, 'key_transactions')).toBeUndefined();
    expect(leftOut.summary()).toBe('left out 3 bad records, the first: hosts');
  });

  it('lose a port that is out of range', () => {
    const leftOut = new Discarded();
    expect(parseRecord(instance, { id: 1, host: 'a', port: 70_000 }, leftOut, 'instances')).toEqual({
      id: 1,
      host: 'a',
    });
    expect(leftOut.summary()).toBe('left out 1 bad value, the first: instances.port');
  });
});

describe('a metric name entry', () => {
  it('may lack value names', () => {
    expect(metricName.parse({ name: 'Apdex' })).toEqual({ name: 'Apdex', values: [] });
  });
});

describe('a text beyond its limit', () => {
  const long = 'x'.repeat(10_001);
  const definition = { select: 'count(*)', from: 'Metric', eventId: 'entity.guid', eventObjectId: 'ENTITY_GUIDS' };
  const metric = { name: 'rate', title: 'Rate', unit: 'COUNT', definition };

  it.each<[string, z.ZodType, Record<string, unknown>, string, string, 'record' | 'value']>([
    ['name', application, { id: 7, name: long }, 'name', 'x{120}', 'record'],
    ['health_status', application, { id: 7, name: 'shop', health_status: long }, 'health_status', 'shop', 'value'],
    ['host', host, { id: 7, host: long }, 'host', 'x{120}', 'record'],
    ['health_status', host, { id: 7, host: 'a', health_status: long }, 'health_status', 'a', 'value'],
    ['host', instance, { id: 7, host: long }, 'host', 'x{120}', 'record'],
    ['name', keyTransaction, { id: 7, name: long }, 'name', 'x{120}', 'record'],
    ['name', metricName, { name: long }, 'name', 'x{120}', 'record'],
    ['guid', entity, { guid: long, name: 'shop' }, 'guid', 'shop', 'record'],
    ['name', entity, { guid: 'g', name: long }, 'name', 'x{120}', 'record'],
    ['name', goldenMetric, { ...metric, name: 'x'.repeat(201) }, 'name', 'x{120}', 'record'],
    ...['select', 'from', 'where', 'eventId'].map(
      (field): [string, z.ZodType, Record<string, unknown>, string, string, 'record' | 'value'] => [
        `definition.${field}`,
        goldenMetric,
        { ...metric, definition: { ...definition, [field]: long } },
        `definition\\.${field}`,
        'rate',
        field === 'where' ? 'value' : 'record',
      ],
    ),
  ])('%s: is too large, and the message names its record', (_, schema, record, field, name, what) => {
    const leftOut = new Discarded();
    expect(parseRecord(schema, record, leftOut, 'list') === undefined).toBe(what === 'record');
    expect(leftOut.summaries()).toEqual([
      {
        reason: 'too_large',
        words: expect.stringMatching(
          `^left out 1 ${what} because of a text that is too long, the first: ` +
            `list\\.${field} of "${name}" has more than (200|10,000) characters: shorten it in New Relic$`,
        ) as string,
      },
    ]);
  });

  it.each([9_999, 10_000])('is accepted with %d characters', (length) => {
    const leftOut = new Discarded();
    expect(parseRecord(application, { id: 7, name: 'x'.repeat(length) }, leftOut, 'list')).toBeDefined();
    expect(leftOut.summary()).toBe('');
  });

  it('does not hide another fault of its record', () => {
    const leftOut = new Discarded();
    expect(parseRecord(application, { id: '7', name: long }, leftOut, 'list')).toBeUndefined();
    expect(leftOut.summary()).toBe('left out 1 bad record, the first: list');
  });
});

describe('parseList', () => {
  it.each([[{}], [{ applications: null }], [{ applications: {} }], [null]])('refuses %j', async (body) => {
    await expect(parseList(application, body, 'applications', new Discarded())).rejects.toThrow(
      'the response has no list "applications"',
    );
  });

  it('lets other work run while it reads thousands of records', async () => {
    const applications = Array.from({ length: 5_000 }, (_, index) => ({ ...WHOLE, id: index + 1, settings: 'none' }));
    const list = parseList(application, { applications }, 'applications', new Discarded());
    const turn = new Promise((resolve) => setImmediate(() => resolve('another turn')));
    expect(await Promise.race([list, turn])).toBe('another turn');
    expect(await list).toHaveLength(5_000);
  });
});

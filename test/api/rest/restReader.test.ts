import { describe, expect, it } from 'vitest';
import { inColumns } from '../../support/restColumns.ts';
import { takeAll, type CallOptions, type UpstreamReader } from '../../../src/api/upstreamReader.ts';
import { application, failureOf, listHosts, readMetricData, readOne, serve, readAll } from '../support/reading.ts';
import { json } from '../support/testServer.ts';

describe('createRestReader', () => {
  it('takes only the metrics of single datastore types as database types, each once, sorted', async () => {
    const named = ['Datastore/Redis/allWeb', 'Datastore/MySQL/allWeb', 'Datastore/allWeb', 'Database/allWeb'];
    const others = ['External/allWeb', 'Memcache/allWeb', 'Datastore/MySQL/all', 'Datastore/\ud800/allWeb'];
    const { reader, call } = await serve((response) =>
      json(response, { metrics: [...named, ...others, named[1]].map((name) => ({ name, values: [] })) }),
    );
    expect(await readOne(reader.datastores, { applicationId: 7 }, call)).toEqual([named[1], named[0]]);
  });

  it('takes one subject at a time, which may need several calls', async () => {
    const { reader } = await serve((response) => json(response, {}));
    const range = { from: 0, to: 60 };
    const subjects = [{ applicationId: 1 }, { applicationId: 2 }];
    expect(reader.hosts.take(subjects, range)).toMatchObject({ subjects: subjects.slice(0, 1), calls: 1 });
    expect([...takeAll(reader.hosts, subjects, range)].map(({ calls }) => calls)).toEqual([1, 1]);
    const metrics = { names: Array.from({ length: 31 }, (_, index) => `metric/${index}`) };
    const data = subjects.map((subject) => ({ ...subject, hostKey: undefined, metrics }));
    expect(reader.metricData.take(data, range)).toMatchObject({ subjects: data.slice(0, 1), calls: 2 });
    expect([...takeAll(reader.metricData, data, range)].map(({ calls }) => calls)).toEqual([2, 2]);
  });

  it.each([
    ['a list of texts', ['call_count'], ['call_count']],
    ['a list with something else', ['call_count', 7], []],
    ['no list', 'call_count', []],
  ])('reads the values of a metric name from %s', async (_, values, expected) => {
    const { reader, call } = await serve((response) => json(response, { metrics: [{ name: 'Apdex', values }] }));
    const { names } = await reader.listMetricNames({ applicationId: 7 }, call);
    expect(names).toEqual([{ name: 'Apdex', values: expected }]);
  });

  it('names the metric name that New Relic refuses, and reads the others', async () => {
    const { reader, call, notes } = await serve((response, { url }) => {
      const names = url.searchParams.getAll('names[]');
      if (names.includes('Custom/bad')) json(response, { error: { title: 'bad name' } }, {}, 422);
      else json(response, { metric_data: { metrics: [], metrics_not_found: names } });
    });
    await readMetricData(reader, { names: ['Apdex', 'Custom/bad', 'CPU/User Time'] }, call);
    expect(
      notes.failures.map(({ reason, message }) => [reason, message.replace(/.*: (application)/, '$1')]),
    ).toContainEqual([
      'invalid_response',
      'application 7: New Relic refuses the metric name "Custom/bad": the values calculated from it are missing ' +
        '(reason invalid_response)',
    ]);
  });

  it.each<[string, (reader: UpstreamReader, call: CallOptions) => Promise<unknown>, unknown, string, unknown]>([
    ['applications', (r, c) => r.listApplications({}, c), { applications: [] }, '/v2/applications.json', []],
    [
      'an application',
      (r, c) => r.readApplication!(7, c),
      { application: application(7) },
      '/v2/applications/7.json',
      expect.objectContaining({ id: 7 }),
    ],
    [
      'key transactions',
      (r, c) => r.listKeyTransactions({ ids: [3] }, c),
      { key_transactions: [{ id: 3, name: 'k' }], links: {} },
      '/v2/key_transactions.json?filter%5Bids%5D=3',
      [expect.objectContaining({ id: 3 })],
    ],
    [
      'a key transaction',
      (r, c) => r.readKeyTransaction!(3, c),
      { key_transaction: { id: 3, name: 'k' }, links: {} },
      '/v2/key_transactions/3.json',
      expect.objectContaining({ id: 3 }),
    ],
    [
      'hosts',
      (r, c) => listHosts(r, 7, c),
      { application_hosts: [{ id: 1, host: 'h' }] },
      '/v2/applications/7/hosts.json',
      [expect.objectContaining({ key: '1', host: 'h' })],
    ],
    [
      'instances',
      (r, c) => readOne(r.instances, { applicationId: 7 }, c),
      { application_instances: [{ id: 1, host: 'h', port: 0 }] },
      '/v2/applications/7/instances.json',
      [expect.objectContaining({ id: 1, port: 0 })],
    ],
    [
      'metric names of an application',
      (r, c) => r.listMetricNames({ applicationId: 7, name: '/allWeb' }, c),
      { metrics: [] },
      '/v2/applications/7/metrics.json?name=%2FallWeb',
      { names: [], complete: true },
    ],
    [
      'metric names of a host',
      (r, c) => r.listMetricNames({ applicationId: 7, hostKey: '8', name: 'x' }, c),
      { metrics: [] },
      '/v2/applications/7/hosts/8/metrics.json?name=x',
      { names: [], complete: true },
    ],
    [
      'metric data',
      (r, c) => readMetricData(r, { names: ['Apdex', 'CPU/User Time'] }, c),
      { metric_data: { metrics: [] } },
      '/v2/applications/7/metrics/data.json?names%5B%5D=Apdex&names%5B%5D=CPU%2FUser%20Time&from=2026-11-21T02:00:00Z&to=2026-11-21T02:30:00Z&summarize=true',
      new Map(),
    ],
    [
      'metric data of a host',
      (r, c) => readMetricData(r, { hostKey: '8', names: ['Apdex'] }, c),
      { metric_data: { metrics: [] } },
      '/v2/applications/7/hosts/8/metrics/data.json?names%5B%5D=Apdex&from=2026-11-21T02:00:00Z&to=2026-11-21T02:30:00Z&summarize=true',
      new Map(),
    ],
  ])('reads %s', async (_, read, body, path, expected) => {
    const { server, reader, call, notes } = await serve((response) => json(response, body));
    expect(await read(reader, call)).toEqual(expected);
    expect(server.asked.map((asked) => asked.path)).toEqual([path]);
    const template = path
      .replace(/^\/v2|\?.*/g, '')
      .replace(/hosts\/\d+/, 'hosts/{host_id}')
      .replace(/\b\d+/, '{id}');
    expect(notes.started).toEqual([template]);
    expect(notes.failures).toEqual([]);
  });

  it('requests a series by timeslice, and the data of a window as one summary', async () => {
    const { server, reader, call } = await serve((response) => json(response, { metric_data: { metrics: [] } }));
    const subject = { applicationId: 7, hostKey: undefined, metrics: { names: ['Apdex'] } };
    await readAll(reader.metricSeries, [subject], { from: 600, to: 780, readFrom: 0, granule: 60 }, call);
    await readAll(reader.metricData, [subject], { from: 600, to: 780 }, call);
    const queries = server.asked.map(({ url }) =>
      ['summarize', 'from', 'to'].map((name) => url.searchParams.get(name)),
    );
    expect(queries).toEqual([
      [null, '1970-01-01T00:00:00Z', '1970-01-01T00:13:00Z'],
      ['true', '1970-01-01T00:10:00Z', '1970-01-01T00:13:00Z'],
    ]);
  });

  it('requests many ids in calls of 200, and makes no call without ids', async () => {
    const { server, reader, call } = await serve((response, { url }) => {
      const wanted = url.searchParams.get('filter[ids]')?.split(',').map(Number) ?? [];
      json(response, { applications: wanted.map((id) => application(id)) });
    });
    const ids = Array.from({ length: 450 }, (_, index) => index + 1);
    expect((await reader.listApplications({ ids }, call)).map(({ id }) => id)).toEqual(ids);
    expect(server.asked).toHaveLength(3);
    expect(await reader.listApplications({ ids: [] }, call)).toEqual([]);
    expect(server.asked).toHaveLength(3);
  });

  it('gives a refused metric as unknown, not as absent', async () => {
    const { reader, call } = await serve((response, { url }) => {
      const names = url.searchParams.getAll('names[]');
      if (names.includes('Errors/all')) {
        json(response, { error: { title: 'bad name' } }, {}, 422);
        return;
      }
      const timeslices = [{ from: '2026-11-21T02:00:00Z', to: '2026-11-21T02:30:00Z', values: { call_count: 5 } }];
      const metrics = names.filter((name) => name === 'HttpDispatcher').map((name) => ({ name, timeslices }));
      json(response, { metric_data: { metrics } });
    });
    const names = ['HttpDispatcher', 'Errors/all', 'WebFrontend/QueueTime'];
    const range = { from: 1_795_226_400, to: 1_795_228_200 };
    // The second reading does not ask for the name.
    for (let reading = 0; reading < 2; reading += 1) {
      const data = await readMetricData(reader, { names }, call, range);
      expect(data).toEqual(
        new Map([
          ['HttpDispatcher', inColumns('HttpDispatcher', { call_count: 5 })],
          ['Errors/all', {}],
        ]),
      );
    }
  });

  it('counts left out records once per response, without text from New Relic', async () => {
    const bad = { ...application(1), language: 5, application_summary: { throughput: null, response_time: '7' } };
    const { reader, call, notes } = await serve((response) =>
      json(response, { applications: [bad, { id: 'evil', name: 'x' }, application(3, 'good')] }),
    );
    const applications = await reader.listApplications({}, call);
    expect(applications.map(({ id }) => id)).toEqual([1, 3]);
    expect(applications[0]).toMatchObject({ language: undefined, summary: { requestRate: undefined } });
    expect(notes.failures).toEqual([
      {
        reason: 'invalid_response',
        message:
          'GET /applications.json: left out 1 bad record and 2 bad values, the first: applications.application_summary.response_time',
      },
    ]);
  });

  it('fails when no record of a list can be read, so that the series do not end', async () => {
    const { reader, call, notes } = await serve((response) =>
      json(response, { applications: [{ id: '1', name: 'a' }, {}] }),
    );
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('invalid_response');
    expect(message).toContain('none of the 2 records');
    expect(notes.failures.map(({ reason }) => reason)).toContain('invalid_response');
  });

  it.each([[{}], [{ application: null }], [{ application: { id: 7 } }], [{ application: { id: 7, name: '' } }]])(
    'fails for a single record that is %j',
    async (body) => {
      const { reader, call } = await serve((response) => json(response, body));
      expect((await failureOf(reader.readApplication!(7, call))).failure.reason).toBe('invalid_response');
    },
  );
});

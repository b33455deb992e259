import { describe, expect, it } from 'vitest';
import { readMetricData, readOne, serve, startReading } from './support/reading.ts';
import { json } from './support/testServer.ts';
import { RANGE } from './nerdgraph/nerdGraphReading.ts';
import { startBetween } from './nerdgraph/proxy.ts';

describe('a reader that replaces another reader in a reload', () => {
  it('knows the lists that the old reader was still reading', async () => {
    const { reader, call, replace } = await startBetween({ applications: 2, keyTransactions: 1 });
    const lists = Promise.all([reader.listApplications({}, call), reader.listKeyTransactions({}, call)]);
    const next = replace();
    const [applications, [keyTransaction]] = await lists;
    for (const { id, language } of applications) {
      const hosts = await readOne(next.reader.hosts, { applicationId: id }, next.call, RANGE);
      expect(hosts.map((host) => host.language)).toEqual(hosts.map(() => language));
    }
    const subject = { keyTransactionId: keyTransaction?.id ?? 0 };
    const values = await readOne(next.reader.rolling, subject, next.call, RANGE);
    expect(values.summary?.requestRate).toBeGreaterThan(0);
  });

  it('knows the refused metric names, and that a call takes ten names', async () => {
    const names = Array.from({ length: 25 }, (_, index) => `metric/${index}`);
    const { server, reader, call } = await serve((response, { url }) => {
      const asked = url.searchParams.getAll('names[]');
      if (asked.length > 10 || asked.includes('metric/17')) {
        json(response, {}, {}, 422);
        return;
      }
      const metrics = asked.map((name) => ({ name, timeslices: [{ ...TIMES, values: { count: 1 } }] }));
      json(response, { metric_data: { ...TIMES, metrics } });
    });
    for (const some of [names.slice(0, 15), names]) await readMetricData(reader, { names: some }, call);
    const next = startReading(`${server.origin}/v2`, {}, reader.memory);
    server.asked.length = 0;
    await readMetricData(next.reader, { names }, next.call);
    expect(server.asked.map(({ url }) => url.searchParams.getAll('names[]').length)).toEqual([10, 10, 4]);
  });
});

const TIMES = { from: '2026-11-21T02:00:00+00:00', to: '2026-11-21T02:30:00+00:00' };

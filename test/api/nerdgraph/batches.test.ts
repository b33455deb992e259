import { setImmediate as nextTurn } from 'node:timers/promises';
import { planChunks } from '../../../src/tools/backfill/planBackfill.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { selectorOf } from '../../../src/api/nerdgraph/metricData.ts';
import { writeCondition, planQueries, expectedRows } from '../../../src/api/nerdgraph/batching.ts';
import { PLANNED_FACETS } from '../../../src/nrql/facets.ts';
import { AccountMemory } from '../../../src/api/nerdgraph/accountMemory.ts';
import { writeNrql } from '../../../src/api/nerdgraph/nrql.ts';
import { MetricSelector } from '../../../src/api/nerdgraph/metricSelector.ts';
import type { MetricDataResult, MetricSeries, Outcome } from '../../../src/api/upstreamReader.ts';
import { metricDataOf, METRICS, NOW, RANGE } from './nerdGraphReading.ts';
import { edit, say, startBetween, where, type Between, type Fault } from './proxy.ts';
import { readAll as readSubjects, readOne, valueOf } from '../support/reading.ts';
import { takeAll } from '../../../src/api/upstreamReader.ts';

const WORLD = { applications: 16, hostsPerApplication: 2, keyTransactions: 2 };
const IDS = Array.from({ length: 16 }, (_, index) => 1_000_001 + index);

const failWhere = (isBad: (nrql: string) => boolean, errorClass: string, message = 'no'): Fault =>
  where(isBad, say(message, errorClass));

/** The ids that a query asks for. */
function idsIn(text: string): readonly string[] {
  return [...new Set(text.match(/\b10000\d\d\b/g))];
}

function readAll({ reader, call }: Between): Promise<readonly Outcome<MetricDataResult>[]> {
  return readSubjects(reader.metricData, metricDataOf(IDS), RANGE, call);
}

function readHosts({ reader, call }: Between): Promise<readonly Outcome<MetricDataResult>[]> {
  const subjects = ['storefront-1-01', 'storefront-1-02'].map((hostKey) => ({
    applicationId: IDS[0]!,
    hostKey,
    metrics: METRICS,
  }));
  return readSubjects(reader.metricData, subjects, RANGE, call);
}

function failed(outcomes: readonly Outcome<unknown>[]): number[] {
  return outcomes.flatMap((outcome, index) => ('error' in outcome ? [index] : []));
}

describe('a query for a batch of applications', () => {
  it('is a single call with a result for each application', async () => {
    const between = await startBetween(WORLD);
    const outcomes = await readAll(between);
    expect(between.asked).toHaveLength(1);
    expect(failed(outcomes)).toEqual([]);
    expect(between.asked[0]!.nrql).toMatch(/^SELECT count\(newrelic\.timeslice\.value\) AS c, .* LIMIT MAX$/);
  });

  it.each([
    [12_500, 11],
    [30_000, 29],
    [60_000, 30],
    [4_000, 5],
  ])(
    'has a timeout of a second less than a call of %i ms, between 5 and 30 seconds: %i',
    async (requestTimeoutMs, seconds) => {
      const between = await startBetween({ ...WORLD, applications: 1 }, { requestTimeoutMs });
      await readHosts(between);
      expect(JSON.parse(between.asked.at(-1)!.text)).toMatchObject({ variables: { timeout: seconds } });
    },
  );

  it('asks for sums of squares only where a selector value needs them', async () => {
    const { reader, call, asked } = await startBetween({ ...WORLD, applications: 1 });
    const read = async (...selector: string[]): Promise<readonly [boolean, readonly string[]]> => {
      const metrics = { names: ['HttpDispatcher'], values: new Map([['HttpDispatcher', selector]]) };
      const subject = { applicationId: IDS[0]!, hostKey: undefined, metrics };
      const read = await readOne(reader.metricData, subject, call, RANGE);
      const found = read.metrics.get('HttpDispatcher')?.values ?? {};
      return [asked.at(-1)!.nrql.includes('sumOfSquares'), Object.keys(found)];
    };
    expect(await read('call_count', 'max_value')).toEqual([false, ['call_count', 'max_value']]);
    expect(await read('call_count', 'standard_deviation')).toEqual([true, ['call_count', 'standard_deviation']]);
  });

  it('is split until no part exceeds the ten rows of a result', async () => {
    const between = await startBetween(WORLD);
    const [whole, hosts] = [await readAll(between), await readHosts(between)];
    between.fault = edit((response) => {
      if (response.results.length <= 10) return;
      response.results = response.results.slice(0, 10);
      response.otherResult = { c: 1, t: 0, x: 0, mn: null, mx: null };
    });
    expect(await readAll(between)).toEqual(whole);
    expect(await readHosts(between)).toEqual(hosts);
    expect(new Set(between.notes.splits)).toEqual(new Set(['truncated']));
    expect(between.notes.failures).toEqual([]);
  });

  it('is split while a message says that the result is incomplete', async () => {
    const between = await startBetween(WORLD);
    const [whole, hosts] = [await readAll(between), await readHosts(between)];
    between.fault = edit((response) => {
      if (response.results.length <= 10) return;
      response.results = response.results.slice(0, 10);
      response.metadata.messages = ['rolled up', 'Results limited to 10 rows'];
    });
    expect(await readAll(between)).toEqual(whole);
    expect(await readHosts(between)).toEqual(hosts);
    expect(new Set(between.notes.splits)).toEqual(new Set(['truncated']));
    expect(between.notes.failures).toEqual([]);
  });

  it('for the hosts of one application, or for a single host, is retried after a timeout', async () => {
    const between = await startBetween(WORLD, { maxRetries: 2 });
    const { reader, call, notes } = between;
    const applicationId = IDS[0]!;
    const host = { applicationId, hostKey: 'storefront-1-01' };
    const reads = [
      () => readSubjects(reader.hosts, [{ applicationId }], RANGE, call),
      () => readSubjects(reader.metricData, [{ ...host, metrics: METRICS }], RANGE, call),
      () => readSubjects(reader.rolling!, [host], RANGE, call),
    ];
    for (const read of reads) {
      let failuresLeft = 2;
      between.fault = failWhere(() => (failuresLeft -= 1) >= 0, 'TIMEOUT');
      const before = notes.retries.length;
      expect(failed(await read())).toEqual([]);
      expect(notes.retries.length - before).toBe(2);
    }
    expect(notes.splits).toEqual([]);
  });

  it('that is split into many parts leaks no listeners in Node.js', async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const between = await startBetween(WORLD);
    between.fault = failWhere((text) => idsIn(text).length > 1, 'ODD', 'the query is too long');
    expect(failed(await readAll(between))).toEqual([]);
    expect(between.asked).toHaveLength(31);
    expect(warnings).toEqual([]);
  });

  it('that timed out like all others is split as far as needed once New Relic answers', async () => {
    const between = await startBetween(WORLD);
    const whole = await readAll(between);
    between.fault = failWhere(() => true, 'TIMEOUT');
    expect(failed(await readAll(between))).toHaveLength(16);
    // New Relic is back, but only small queries are fast enough.
    between.fault = failWhere((text) => idsIn(text).length > 2, 'TIMEOUT');
    expect(await readAll(between)).toEqual(whole);
    expect(new Set(between.notes.splits)).toEqual(new Set(['timeout']));
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a list that is too short', ['1000005']],
    ['a list without an id', ['checkout', 'Apdex']],
    ['a list with something else than a text', ['1000005', {}]],
    ['a number', 7],
  ])('fails only for the application whose row has a facet that is %s', async (_, facet) => {
    const between = await startBetween(WORLD);
    between.fault = edit(({ results }) => {
      const row = results.find(({ facet: found }) => Array.isArray(found) && found[0] === '1000005');
      if (row === undefined) return;
      row['facet'] = facet;
      delete row['appId'];
    });
    expect(failed(await readAll(between))).toEqual([4]);
    expect(new Set(between.notes.splits)).toEqual(new Set(['error']));
  });

  it('ignores the row of an application that was not requested, and counts it', async () => {
    const between = await startBetween(WORLD);
    const whole = await readAll(between);
    between.fault = edit(({ results }) => {
      results.push({ ...results[0], facet: ['77', 'HttpDispatcher'] });
    });
    expect(await readAll(between)).toEqual(whole);
    expect(between.notes.failures.map(({ message }) => message)).toEqual([
      expect.stringMatching(/left out 1 bad record/),
    ]);
  });

  it.each<[string, (id: string) => unknown]>([
    ['numbers', Number],
    ['texts of numbers with a fraction', (id) => `${id}.0`],
  ])('takes ids that arrive as %s', async (_, written) => {
    const between = await startBetween(WORLD);
    const whole = await readAll(between);
    between.fault = edit(({ results }) => {
      for (const row of results) {
        const [id, ...rest] = row['facet'] as string[];
        row['facet'] = [written(id ?? ''), ...rest];
      }
    });
    expect(await readAll(between)).toEqual(whole);
  });

  it.each(['x', 'mn', 'mx'])('ignores an unreadable %s, counts it, and keeps the rest', async (column) => {
    const between = await startBetween(WORLD);
    between.fault = edit(({ results }) => {
      for (const row of results) row[column] = 'unreadable';
    });
    const { metrics } = valueOf((await readAll(between))[0]);
    expect(metrics.get('HttpDispatcher')?.count).toBeGreaterThan(0);
    const apdex = metrics.get('Apdex');
    expect(apdex?.exclusive === undefined).toBe(column === 'x');
    expect(apdex?.max === undefined).toBe(column === 'mx');
    expect(between.notes.failures[0]?.message).toMatch(/left out \d+ bad values/);
  });

  it('fails with a response for another time', async () => {
    const between = await startBetween({ ...WORLD, applications: 1 });
    between.fault = edit(({ metadata }) => (metadata.timeWindow.begin += 420_000));
    const [outcome] = await readSubjects(between.reader.metricData, metricDataOf([IDS[0]!]), RANGE, between.call);
    expect(outcome).toHaveProperty('error.failure.reason', 'invalid_response');
  });

  it('gives zeros only for applications that report', async () => {
    const between = await startBetween(WORLD);
    between.fault = edit((response) => {
      response.results = response.results.filter(({ facet }) => {
        const [id, name] = facet as string[];
        return id === '1000002' ? name === 'Agent/MetricsReported/count' : id !== '1000001';
      });
    });
    const [silent, alive] = await readAll(between);
    expect(silent).toEqual({ value: { window: RANGE, metrics: new Map(), datastores: [] } });
    const { metrics } = valueOf(alive);
    const zeros = [...metrics].filter(([, { count }]) => count === 0).map(([name]) => name);
    expect(zeros.sort()).toEqual(['Errors/all', 'HttpDispatcher', 'OtherTransaction/all']);
    expect(metrics.size).toBe(4);
  });
});

const NOTHING = { t: null, x: null, mn: null, mx: null };

/** Moves the bucket of a row by this number of seconds. */
function moved(row: Record<string, unknown>, seconds: number): void {
  for (const name of ['beginTimeSeconds', 'endTimeSeconds']) row[name] = Number(row[name]) + seconds;
}

/** The order of the metrics of a series has no meaning. */
function byName(outcomes: readonly Outcome<MetricSeries>[]): unknown[] {
  return outcomes.map((outcome) => ('error' in outcome ? outcome : new Map(outcome.value.metrics)));
}

describe('a series', () => {
  const last = RANGE.to - 60;
  it.each<[string, (rows: Record<string, unknown>[]) => void, boolean]>([
    ['null in an empty bucket', (rows) => rows.forEach((row) => row['c'] === 0 && Object.assign(row, NOTHING)), false],
    ['no sum in a bucket that has calls', (rows) => rows.forEach((row) => row['c'] === 0 || (row['t'] = null)), true],
    ['two rows for one bucket', (rows) => rows.push({ ...rows.find(({ c }) => c !== 0) }), true],
    ['a bucket of another length', (rows) => rows.forEach((row) => (row['endTimeSeconds'] = last + 59)), true],
    ['a bucket that ends after the range', (rows) => rows.forEach((row) => moved(row, 60)), true],
    ['a bucket that begins before the range', (rows) => rows.forEach((row) => moved(row, -1_800)), true],
  ])('with %s', async (_, change, fails) => {
    const between = await startBetween({ applications: 1, hostsPerApplication: 1 });
    const { reader, call } = between;
    const [chunk] = planChunks({ from: RANGE.to - 1_740, to: RANGE.to }, 60, NOW / 1000, reader.metricSeries.limits);
    const subjects = metricDataOf([IDS[0]!]);
    const whole = await readSubjects(reader.metricSeries, subjects, chunk!, call);
    between.fault = edit(({ results }) => {
      change(results);
    });
    const changed = await readSubjects(reader.metricSeries, subjects, chunk!, call);
    if (fails) expect(failed(changed)).toEqual([0]);
    else expect(byName(changed)).toEqual(byName(whole));
  });
});

describe('the plan of queries', () => {
  const KIND = { read: 'application_metrics' } as const;
  const all = { application: selectorOf(METRICS, 'application'), host: selectorOf(METRICS, 'host') };
  const fleetOf = (applications: number, hosts: number): AccountMemory => {
    const fleet = new AccountMemory(() => 0);
    const listed = { language: 'java', reporting: true, hosts };
    fleet.storeApplications(Array.from({ length: applications }, (_, index) => ({ id: index + 1, ...listed })));
    return fleet;
  };
  const callsOf = (applications: number, hosts: number, groupBy: 'application' | 'host', types?: number): number => {
    const fleet = fleetOf(applications, hosts);
    const parts = Array.from({ length: applications }, (_, index) => {
      if (types !== undefined) fleet.recordSizes(index + 1, { datastores: types });
      const named =
        groupBy === 'host' ? Array.from({ length: hosts }, (__, host) => `host-${host}.example`) : undefined;
      return { id: index + 1, selector: all[groupBy], hosts: named, namesHosts: false };
    });
    const { batches } = planQueries(parts, fleet, { ...KIND, groupBy });
    for (const batch of batches) {
      expect(batch.reduce((rows, part) => rows + expectedRows(part, groupBy, fleet), 0)).toBeLessThanOrEqual(
        PLANNED_FACETS,
      );
      expect(
        writeNrql({
          select: 'count(newrelic.timeslice.value) AS c',
          where: writeCondition(batch, groupBy),
          range: RANGE,
        }).length,
      ).toBeLessThanOrEqual(8_000);
    }
    return batches.length;
  };

  it.each<[string, number, number, 'application' | 'host', number | undefined, number]>([
    ['100 applications at first', 100, 10, 'application', undefined, 1],
    ['their 10 hosts each', 100, 10, 'host', undefined, 4],
    ['1,000 applications', 1_000, 5, 'application', 1, 4],
    ['their 5 hosts each, at first', 1_000, 5, 'host', undefined, 19],
    ['their 5 hosts each, once the datastores are known', 1_000, 5, 'host', 1, 16],
    ['one application with 600 hosts', 1, 600, 'host', undefined, 4],
    ['one application with 120 datastore types', 1, 1, 'application', 120, 1],
  ])('has as few calls as fit for %s', (_, applications, hosts, by, types, most) => {
    expect(callsOf(applications, hosts, by, types)).toBeLessThanOrEqual(most);
  });

  it('keeps queries short for a thousand key transactions', () => {
    const part = { selector: new MetricSelector([]), hosts: undefined, namesHosts: false };
    const parts = Array.from({ length: 1_000 }, (_, index) => ({ ...part, id: String(index).padStart(40, 'A') }));
    const { batches } = planQueries(parts, fleetOf(0, 0), { ...KIND, groupBy: 'key_transaction' });
    expect(batches.flat()).toEqual(parts);
    expect(batches.length).toBeLessThanOrEqual(7);
    for (const batch of batches) expect(writeCondition(batch, 'key_transaction').length).toBeLessThan(7_700);
  });

  it('combines equal requests, also from different objects', () => {
    const partsWith = (selectorOf: () => MetricSelector) =>
      [1, 2].map((id) => ({ id, selector: selectorOf(), hosts: undefined, namesHosts: false }));
    const apart = partsWith(() => new MetricSelector(METRICS.names));
    expect(writeCondition(apart, 'application')).toEqual(
      writeCondition(
        partsWith(() => apart[0]!.selector),
        'application',
      ),
    );
    expect(writeCondition(apart, 'application').match(/Apdex'/g)).toHaveLength(2);
  });

  it('puts a request that is too large for one query alone', () => {
    const fleet = fleetOf(3, 10);
    fleet.recordSizes(2, { hosts: 600 });
    const parts = [1, 2, 3].map((id) => ({ id, selector: all.host, hosts: ['a'], namesHosts: false }));
    const { batches } = planQueries(parts, fleet, { ...KIND, groupBy: 'host' });
    expect(batches.map((batch) => batch.map(({ id }) => id))).toEqual([[2], [1, 3]]);
  });
});

describe('the next call', () => {
  it('waits while more than two responses wait to be parsed, so that few texts stay in memory', async () => {
    const { reader, notes, call } = await startBetween({ applications: 12 });
    let ended = 0;
    const reads = Array.from({ length: 12 }, async (_, index) => {
      await reader.metricData.read(metricDataOf([1_000_001 + index]), RANGE, call);
      ended += 1;
    });
    // Other work takes most turns, as if many responses were read at once.
    let most = 0;
    while (ended < reads.length) {
      await nextTurn();
      most = Math.max(most, notes.entered - notes.places - ended);
    }
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(4);
  });

  it('carries further hosts of an application at no cost, and no host together with applications', async () => {
    const { reader, call } = await startBetween({ ...WORLD, hostsPerApplication: 5 });
    await reader.listApplications({}, call);
    const host = (applicationId: number, hostKey: string | undefined) => ({ applicationId, hostKey, metrics: METRICS });
    const hosts = [host(IDS[0]!, 'a'), host(IDS[0]!, 'b'), host(IDS[1]!, 'c'), host(IDS[0]!, 'd')];
    const others = [host(IDS[2]!, undefined), host(IDS[3]!, undefined)];
    expect(reader.metricData.take([...hosts, ...others], RANGE)).toMatchObject({ subjects: hosts, calls: 1 });
    const batches = [...takeAll(reader.metricData, [...hosts, ...others], RANGE)];
    expect(batches.map(({ calls }) => calls)).toEqual([1, 1]);
    expect(reader.listCalls(201)).toBe(2);
  });

  it('counts the calls of an application with many hosts in advance, and carries nothing else', async () => {
    const { reader, call, asked } = await startBetween({ applications: 2, hostsPerApplication: 400 });
    const [subject] = IDS.map((applicationId) => ({ applicationId }));
    await reader.listApplications({}, call);
    const keys = (await readOne(reader.hosts, subject!, call, RANGE)).map(({ key }) => key);
    expect(keys).toHaveLength(400);
    const subjects = keys.map((hostKey) => ({ applicationId: IDS[0]!, hostKey, metrics: METRICS }));
    const other = { applicationId: IDS[1]!, hostKey: 'a', metrics: METRICS };
    const { subjects: carried, calls } = reader.metricData.take([...subjects, other], RANGE);
    expect(carried).toEqual(subjects);
    const before = asked.length;
    expect(failed(await readSubjects(reader.metricData, subjects, RANGE, call))).toEqual([]);
    expect(calls).toBeGreaterThan(1);
    expect(asked.length - before).toBe(calls);
  });

  it('carries the custom names of many applications, but only one set of filters for each application', async () => {
    const { reader, call } = await startBetween({ ...WORLD, applications: 3 });
    await reader.listApplications({}, call);
    const subject = (applicationId: number, ...filters: string[]) => ({ applicationId, filters });
    const some = [subject(IDS[0]!, 'Custom/a', 'Custom/b'), subject(IDS[1]!, 'Custom/b', 'Custom/a')];
    const again = subject(IDS[0]!, 'Custom/c');
    expect(reader.customNames.take([...some, again], RANGE)).toMatchObject({ subjects: some, calls: 1 });
  });
});

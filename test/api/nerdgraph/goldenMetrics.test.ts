import { describe, expect, it } from 'vitest';
import type { GoldenResult, GoldenSubject, Outcome } from '../../../src/api/upstreamReader.ts';
import { recordId } from '../../../src/nrql/goldenMetric.ts';
import { failureOf, readAll } from '../support/reading.ts';
import { entitiesOf, SERVICE, servicesOf, subjectsOf } from './goldenSubjects.ts';
import { RANGE } from './nerdGraphReading.ts';
import { edit, say, startBetween, where, type Between } from './proxy.ts';

const WORLD = { applications: 40, hostsPerApplication: 1, keyTransactions: 0 };
async function read(between: Between, subjects: readonly GoldenSubject[]) {
  const before = between.asked.length;
  const outcomes = await readAll(entitiesOf(between).goldenMetrics, subjects, RANGE, between.call);
  return { outcomes, queries: between.asked.length - before };
}

/** The guid of a service whose id has 19 digits. */
const guidOf = (index: number): string =>
  Buffer.from(`1234567|EXT|SERVICE|${8n * 10n ** 18n + BigInt(index)}`)
    .toString('base64')
    .replaceAll('=', '');
const domainIdOf = (guid: string): string => `'${recordId(guid, 'DOMAIN_IDS')}'`;
const failuresOf = (outcome: Outcome<GoldenResult>): readonly string[] =>
  'error' in outcome ? ['all'] : outcome.value.failures.map(([metric]) => metric);
const valuesOf = (outcome: Outcome<GoldenResult>): readonly string[] =>
  'error' in outcome ? [] : [...new Set(outcome.value.values.map(({ metric }) => metric))];

describe('golden metrics', () => {
  it('of many entities take one query for each source, and timeslices a separate one', async () => {
    const between = await startBetween(WORLD);
    const subjects = await subjectsOf(between, SERVICE);
    expect(entitiesOf(between).goldenMetrics.take(subjects, RANGE)).toMatchObject({ subjects, calls: 2 });
    const { outcomes, queries } = await read(between, subjects);
    expect(queries).toBe(2);
    expect(outcomes.map(failuresOf)).toEqual(subjects.map(() => []));
    expect(outcomes.filter((each) => valuesOf(each).length === 3).length).toBeGreaterThan(30);
    const [micrometer = '', opentelemetry = ''] = between.asked
      .slice(-2)
      .map(({ nrql }) => nrql)
      .sort();
    expect(micrometer).toMatch(
      /^SELECT datapointCount\(\) AS n, rate\(count\(http\.server\.requests\), 1 minute\) AS m0, /,
    );
    expect(opentelemetry).toMatch(/^SELECT rate\(count\(apm\.service\.transaction\.duration\), 1 minute\) AS m0, /);
  });

  it('of different windows take separate queries, each over its own minutes', async () => {
    const between = await startBetween(WORLD);
    const [a, b, c] = await servicesOf(between);
    await read(between, [a!, { ...b!, endsBefore: 480 }, { ...c!, endsBefore: 480, window: 60 }]);
    const times = between.asked.slice(-3).map(({ nrql }) => /SINCE (\d+) UNTIL (\d+)/.exec(nrql)?.slice(1).map(Number));
    const end = RANGE.to - 480;
    const seconds = [
      [RANGE.from, RANGE.to],
      [end - (RANGE.to - RANGE.from), end],
      [end - 60, end],
    ];
    expect(times).toEqual(seconds.map((range) => range.map((time) => time * 1000)));
  });

  it('of 1,000 entities take eight queries, because ids of 19 digits leave room for about 130 in one', async () => {
    const between = await startBetween(WORLD);
    const [service] = await servicesOf(between);
    const subjects = Array.from({ length: 1_000 }, (_, index) => ({ ...service!, guid: guidOf(index) }));
    const { subjects: carried } = entitiesOf(between).goldenMetrics.take(subjects, RANGE);
    const { queries } = await read(between, subjects);
    expect([queries, Math.round(carried.length / 10) * 10]).toEqual([8, 130]);
  });

  it('with one that breaks queries take one call more, and as many as planned once it works again', async () => {
    const between = await startBetween(WORLD, { maxRetries: 2 });
    const subjects = await servicesOf(between);
    between.fault = where((nrql) => nrql.includes('sum(apm.service.error.count)'), say('Unknown function x()'));
    const first = await read(between, subjects);
    expect(first.outcomes.map(failuresOf)).toEqual(subjects.map(() => ['errorRate']));
    const second = await read(between, subjects);
    expect(second.outcomes.map(failuresOf)).toEqual(subjects.map(() => ['errorRate']));
    expect(second.queries).toBe(2);
    between.fault = undefined;
    const { calls } = entitiesOf(between).goldenMetrics.take(subjects, RANGE);
    const third = await read(between, subjects);
    expect(third.outcomes.map(failuresOf)).toEqual(subjects.map(() => []));
    expect([third.queries, calls]).toEqual([2, 2]);
    expect((await read(between, subjects)).queries).toBe(1);
  });

  it('of one definition with a broken column fail alone, and take at most four more calls a minute', async () => {
    let now = 0;
    const between = await startBetween(WORLD, { maxRetries: 2, monotonic: () => now });
    const [service] = await subjectsOf(between, SERVICE);
    const broken = service!.columns.map((column, index) =>
      index === 1 ? { ...column, select: 'average(apm.service.transaction.duration) * 10' } : column,
    );
    const subjects = Array.from({ length: 300 }, (_, index) => {
      return { ...service!, guid: guidOf(index), columns: index % 10 === 0 ? broken : service!.columns };
    });
    const expected = subjects.map((_, index) => (index % 10 === 0 ? [broken[1]!.name] : []));
    between.fault = where((nrql) => nrql.includes('duration) * 10 '), say('Unknown function x()'));
    const first = await read(between, subjects);
    expect(first.outcomes.map(failuresOf)).toEqual(expected);
    expect(first.queries).toBeLessThanOrEqual(60);
    for (let minute = 0; minute < 5; minute += 1) {
      now += 60_000;
      const later = await read(between, subjects);
      expect(later.outcomes.map(failuresOf)).toEqual(expected);
      expect(later.queries).toBeLessThanOrEqual(3 + 4);
    }
    between.fault = undefined;
    now += 60_000;
    expect((await read(between, subjects)).outcomes.map(failuresOf)).toEqual(subjects.map(() => []));
  });

  it('fail alone for a metric, an entity and a metric of one entity that fail together', async () => {
    let now = 0;
    const between = await startBetween(WORLD, { maxRetries: 0, monotonic: () => now });
    const listed = await subjectsOf(between, SERVICE);
    const subjects = listed.filter(({ columns }) => columns === listed[0]!.columns);
    const names = subjects[0]!.columns.map(({ name }) => name);
    const selectOf = (index: number): string => subjects[0]!.columns[index]!.select;
    const [entity, pair] = [subjects[11]!.guid, subjects[23]!.guid];
    between.fault = where(
      (nrql) =>
        nrql.includes(selectOf(1)) || nrql.includes(entity) || (nrql.includes(pair) && nrql.includes(selectOf(2))),
      say('Unknown function x()'),
    );
    for (let minute = 0; minute < 6; minute += 1) {
      const { outcomes, queries } = await read(between, subjects);
      now += 60_000;
      // The first reads split the batch to find the broken parts.
      if (minute < 3) continue;
      expect(outcomes.map(failuresOf)).toEqual(
        subjects.map(({ guid }) => (guid === entity ? ['all'] : guid === pair ? [names[1], names[2]] : [names[1]])),
      );
      expect(queries).toBeLessThanOrEqual(1 + 3 * 4);
    }
  });

  it.each([
    ['entity', (guid: string) => (nrql: string) => nrql.includes(guid) || nrql.includes(domainIdOf(guid)), 0],
    ['column', () => (nrql: string) => nrql.includes('count(*) * 2'), 1],
  ] as const)(
    'of other entities are read although the first %s breaks the queries of three sources at once',
    async (_, isStruck, readOfFirst) => {
      const between = await startBetween(WORLD, { maxRetries: 0 });
      const listed = await subjectsOf(between, 'BROWSER-APPLICATION');
      const sources = [...new Set(listed[0]!.columns.map(({ source }) => source))];
      expect(sources).toHaveLength(3);
      const columns = sources.flatMap((source, index) => [
        { name: `bad ${index}`, source, select: 'count(*) * 2' },
        { name: `good ${index}`, source, select: 'count(*) * 3' },
      ]);
      const subjects = listed.map((subject) => ({ ...subject, columns }));
      between.fault = where(isStruck(listed[0]!.guid), say('Unknown function x()'));
      for (let refresh = 0; refresh < 3; refresh += 1) await read(between, subjects);
      const { outcomes } = await read(between, subjects);
      const failing = outcomes.map((outcome) => failuresOf(outcome).some((name) => !name.startsWith('bad')));
      expect(failing).toEqual(subjects.map((_subject, index) => index < 1 - readOfFirst));
    },
  );

  it('by the id in a guid fail for an entity whose guid has no id, and for no other', async () => {
    const between = await startBetween(WORLD, { maxRetries: 0 });
    const [first, ...others] = await subjectsOf(between, 'BROWSER-APPLICATION');
    const columns = first!.columns.filter(({ source }) => source.eventObjectId === 'DOMAIN_IDS');
    const subjects = [{ ...first!, guid: 'plain' }, ...others].map((subject) => ({ ...subject, columns }));
    const { outcomes } = await read(between, subjects);
    expect(outcomes.map(failuresOf)).toEqual([['all'], ...others.map(() => [])]);
  });

  it('with an unreadable row are read again in parts, and the first response is not used', async () => {
    const between = await startBetween(WORLD, { maxRetries: 0 });
    const subjects = await servicesOf(between);
    const whole = await read(between, subjects);
    const silent = subjects.find((_, index) => valuesOf(whole.outcomes[index]!).length === 3)!;
    let isFirst = true;
    between.fault = edit((answer) => {
      if (isFirst) for (const member of ['facet', 'entity.guid']) delete answer.results.at(-1)?.[member];
      else answer.results = answer.results.filter(({ facet }) => facet !== silent.guid);
      isFirst = false;
    });
    const { outcomes, queries } = await read(between, subjects);
    expect(queries).toBeGreaterThan(1);
    expect(outcomes.map(failuresOf)).toEqual(subjects.map(() => []));
    expect(valuesOf(outcomes[subjects.indexOf(silent)]!)).toEqual([]);
  });

  it('of an entity with two rows fail, and of no other entity', async () => {
    const between = await startBetween(WORLD, { maxRetries: 0 });
    const subjects = await servicesOf(between);
    const twice = (await read(between, subjects)).outcomes.findIndex((each) => valuesOf(each).length === 3);
    between.fault = edit(({ results }) => {
      results.push(...results.filter(({ facet }) => facet === subjects[twice]!.guid));
    });
    const { outcomes } = await read(between, subjects);
    expect(outcomes.map(failuresOf)).toEqual(subjects.map((_, index) => (index === twice ? ['all'] : [])));
  });

  it('of entities with the same id in their records are absent, because a row may belong to either', async () => {
    const between = await startBetween(WORLD, { maxRetries: 0 });
    const [first, ...others] = await subjectsOf(between, 'BROWSER-APPLICATION');
    const guid = Buffer.from(`7|BROWSER|APPLICATION|${recordId(first!.guid, 'DOMAIN_IDS')}`).toString('base64');
    const columns = first!.columns.filter(({ source }) => source.eventObjectId === 'DOMAIN_IDS');
    const subjects = [first!, { ...first!, guid }, ...others].map((subject) => ({ ...subject, columns }));
    const { outcomes } = await read(between, subjects);
    expect(outcomes.map((each) => valuesOf(each).length > 0).slice(0, 3)).toEqual([false, false, true]);
  });

  it('request ids in two lists where New Relic refuses a mixed list, and remember it', async () => {
    const between = await startBetween(WORLD, { maxRetries: 0 });
    const subjects = await subjectsOf(between, 'BROWSER-APPLICATION');
    between.fault = where((nrql) => /appId IN \(\d+, '/.test(nrql), say('types differ', 'INVALID_INPUT'));
    const { outcomes } = await read(between, subjects);
    expect(outcomes.map(failuresOf)).toEqual(subjects.map(() => []));
    expect(outcomes.some((each) => valuesOf(each).includes('errors'))).toBe(true);
    const mixed = between.asked.length;
    await read(between, subjects);
    expect(between.asked.slice(mixed).filter(({ nrql }) => /appId IN \(\d+, '/.test(nrql))).toEqual([]);
  });

  it('keep one list of ids once New Relic has accepted it, whatever it refuses later', async () => {
    const between = await startBetween(WORLD, { maxRetries: 0 });
    const subjects = await subjectsOf(between, 'BROWSER-APPLICATION');
    await read(between, subjects);
    between.fault = where((nrql) => nrql.includes('FROM JavaScriptError'), say('no such event', 'INVALID_INPUT'));
    const { outcomes } = await read(between, subjects);
    expect(new Set(outcomes.flatMap(failuresOf)).size).toBeGreaterThan(0);
    expect(between.asked.filter(({ nrql }) => / OR appId IN /.test(nrql))).toEqual([]);
  });

  it('have one number for one percentile, and no value without measurements', async () => {
    const between = await startBetween({ applications: 16, hostsPerApplication: 1, keyTransactions: 0 });
    const subjects = await subjectsOf(between, 'BROWSER-APPLICATION');
    const { outcomes } = await read(between, subjects);
    const paint = outcomes.map((each) =>
      'value' in each ? each.value.values.filter(({ metric }) => metric === 'largestContentfulPaint75PercentileS') : [],
    );
    expect(paint[0]).toMatchObject([{ percentile: undefined, value: expect.any(Number) as number }]);
    expect(outcomes.map((each) => valuesOf(each).length)).toContain(0);
  });

  it.each(['percentile', 'PERCENTILE', 'Percentile'])('have a number for each percentile of %s', async (name) => {
    const between = await startBetween(WORLD);
    const [subject] = await subjectsOf(between, 'BROWSER-APPLICATION');
    const columns = subject!.columns.slice(0, 1).map((each) => ({ ...each, select: `${name}(duration, 50, 95)` }));
    between.fault = edit(({ results }) => {
      for (const row of results) row['m0'] = { '50': 1, '95': 2 };
    });
    const { outcomes } = await read(between, [{ ...subject!, columns }]);
    expect(outcomes).toMatchObject([
      {
        value: {
          values: [
            { percentile: '50', value: 1 },
            { percentile: '95', value: 2 },
          ],
        },
      },
    ]);
  });

  it('are not percentiles without a call of percentile, although their keys are numbers', async () => {
    const between = await startBetween(WORLD);
    const subjects = await subjectsOf(between, SERVICE);
    between.fault = edit(({ results }) => {
      for (const row of results) if ('m0' in row) row['m0'] = { '0': 50, '50': 75 };
    });
    const { outcomes } = await read(between, subjects);
    const bad = outcomes.flatMap((each) => ('value' in each && each.value.notNumbers.length > 0 ? [each.value] : []));
    expect(bad.length).toBeGreaterThan(30);
    for (const { values } of bad) expect(values.filter(({ percentile }) => percentile !== undefined)).toEqual([]);
  });
});

describe('a list of entities', () => {
  it('is read in smaller pages where a page is too big, and the reader remembers it', async () => {
    const between = await startBetween(
      { applications: 250, hostsPerApplication: 1, keyTransactions: 0 },
      { maxRetries: 0 },
    );
    between.simulator.faults.add({
      ...{ effect: 'graphql-error', class: 'ODD', message: 'denied due to complexity' },
      ...{ on: 'graphql_entity_list', times: 2 },
    });
    expect(await entitiesOf(between).list(SERVICE, between.call)).toHaveLength(250);
    expect(between.simulator.requests.count('graphql_entity_list')).toBe(2 + 5);
    expect(entitiesOf(between).listCalls(SERVICE, 250)).toBe(5);
    await entitiesOf(between).list(SERVICE, between.call);
    expect(between.simulator.requests.count('graphql_entity_list')).toBe(2 + 5 + 5);
  });

  it('is read in pages of the old size after an outage in which every page timed out', async () => {
    const between = await startBetween(WORLD, { maxRetries: 0 });
    between.fault = say('late', 'TIMEOUT');
    await expect(entitiesOf(between).list(SERVICE, between.call)).rejects.toThrow('TIMEOUT');
    expect(between.asked).toHaveLength(8);
    between.fault = undefined;
    await entitiesOf(between).list(SERVICE, between.call);
    expect(between.asked).toHaveLength(9);
    expect(between.asked[8]?.text).toContain('"limit":200');
  });

  it('of more than 10,000 entities is too large, and only its first page is read', async () => {
    const between = await startBetween(WORLD, { maxRetries: 0 });
    const counting = async (count: number): Promise<string> => {
      between.fault = (response, _, good) => {
        response.end(good.replace(/"count":\d+/, `"count":${count}`));
        return true;
      };
      return (await failureOf(entitiesOf(between).list(SERVICE, between.call))).failure.reason;
    };
    expect(await counting(10_001)).toBe('too_large');
    expect(between.asked).toHaveLength(1);
    // The pages hold fewer entities than New Relic counts.
    expect(await counting(10_000)).toBe('invalid_response');
  });

  it('shares equal definitions as one object', async () => {
    const between = await startBetween(WORLD);
    const listed = await entitiesOf(between).list('INFRA-HOST', between.call);
    expect(new Set(listed.map(({ metrics }) => metrics)).size).toBe(2);
  });

  it('includes the number of entities of each type', async () => {
    const between = await startBetween({ applications: 16, hostsPerApplication: 1, keyTransactions: 0 });
    const types = await entitiesOf(between).types(between.call);
    expect(types.map(({ type }) => type)).toEqual(['APM-APPLICATION', 'BROWSER-APPLICATION', SERVICE, 'INFRA-HOST']);
  });
});

import { describe, expect, it } from 'vitest';
import type { MetricDataResult, Outcome } from '../../../src/api/upstreamReader.ts';
import { metricDataOf, METRICS, RANGE } from './nerdGraphReading.ts';
import { edit, say, startBetween, where, type Between, type Fault } from './proxy.ts';
import { failureOf, readAll as readSubjects, readOne, valueOf } from '../support/reading.ts';
import { json } from '../support/testServer.ts';

const IDS = Array.from({ length: 100 }, (_, index) => 1_000_001 + index);
const WORLD = { applications: 100, hostsPerApplication: 1, keyTransactions: 0 };
const UNMATCHED = 'No application was matched (did you specify appId, appName or entity.guid?)';
const MINUTE = 60_000;

function idsIn(text: string): number[] {
  return [...new Set(text.match(/\b10000\d\d\b|\b1000100\b/g))].map(Number);
}

/** Strikes queries about any of these applications. */
const whereIds = (isStruck: (ids: readonly number[]) => boolean, fault: Fault): Fault =>
  where((nrql) => isStruck(idsIn(nrql)), fault);

function readAll({ reader, call }: Between, ids = IDS): Promise<readonly Outcome<MetricDataResult>[]> {
  return readSubjects(reader.metricData, metricDataOf(ids), RANGE, call);
}

function failed(outcomes: readonly Outcome<unknown>[], ids = IDS): number[] {
  return ids.filter((_, index) => 'error' in outcomes[index]!);
}

const hostsOf = (ids: readonly number[], hosts: number) =>
  ids.flatMap((applicationId) =>
    Array.from({ length: hosts }, (_, index) => ({ applicationId, hostKey: `host-${index}`, metrics: METRICS })),
  );

/** Runs an action and returns its result and its number of queries. */
async function counted<T>(between: Between, run: () => Promise<T>): Promise<readonly [T, number]> {
  const before = between.asked.length;
  const result = await run();
  return [result, between.asked.length - before];
}

it('a hundred applications that are all too big are split to the end, because too big is not a failure', async () => {
  const between = await startBetween(WORLD);
  between.fault = whereIds(() => true, say('that query is a little too big'));
  const [outcomes, queries] = await counted(between, () => readAll(between));
  expect(failed(outcomes)).toEqual(IDS);
  expect(queries).toBeLessThanOrEqual(5 * IDS.length);
});

it.each([
  ['a refused query', say('Unknown function x()')],
  ['a missing permission', say('no', 'ACCESS_DENIED')],
  ['a list that is too big', say('that query is a little too big')],
])('%s counts as an answer', async (_, answer) => {
  const between = await startBetween(WORLD);
  between.fault = answer;
  await between.reader.listApplications({}, between.call).catch(() => undefined);
  expect(between.health.answers).toBe(1);
});

describe('a batch that fails temporarily', () => {
  it('takes one more call if the retry succeeds', async () => {
    const between = await startBetween(WORLD, { maxRetries: 2 });
    let failuresLeft = 1;
    between.fault = whereIds(() => (failuresLeft -= 1) >= 0, say('Something went wrong while executing your query'));
    const [outcomes, queries] = await counted(between, () => readAll(between));
    expect([failed(outcomes), queries]).toEqual([[], 2]);
  });

  it('is not split after a good read in between, however many refreshes ago', async () => {
    const between = await startBetween(WORLD, { maxRetries: 2 });
    const words = say('Something went wrong while executing your query');
    for (let moment = 0; moment < 3; moment += 1) {
      between.fault = whereIds(() => true, words);
      const [outcomes, queries] = await counted(between, () => readAll(between));
      expect([failed(outcomes), queries]).toEqual([IDS, 3]);
      between.fault = undefined;
      expect(failed(await readAll(between))).toEqual([]);
    }
    expect(between.notes.splits).toEqual([]);
  });

  it('is not split while the account fails', async () => {
    const between = await startBetween(WORLD);
    between.fault = whereIds(() => true, say('oops', 'SERVER_ERROR'));
    for (let read = 0; read < 2; read += 1) await readAll(between);
    for (let read = 0; read < 3; read += 1) between.health.recordUnansweredRead();
    expect((await counted(between, () => readAll(between)))[1]).toBe(1);
    between.health.recordAnswer();
    expect((await counted(between, () => readAll(between)))[1]).toBe(12);
  });
});

describe('applications without a match in New Relic', () => {
  it('have no rows, are found by halving, left out for 5 minutes and longer, and break no other query', async () => {
    let now = 0;
    const between = await startBetween(WORLD, { monotonic: () => now });
    const unmatched = [IDS[3]!, IDS[70]!];
    const isEmpty = (outcome: Outcome<MetricDataResult>): boolean =>
      'value' in outcome && outcome.value.metrics.size === 0;
    const silent = (await readAll(between)).map(isEmpty);
    between.fault = whereIds((ids) => ids.some((id) => unmatched.includes(id)), say(UNMATCHED, 'INVALID_INPUT'));
    const outcomes = await readAll(between);
    expect(failed(outcomes)).toEqual([]);
    expect(IDS.filter((_, index) => isEmpty(outcomes[index]!) && !silent[index]!)).toEqual(unmatched);
    const [again, queries] = await counted(between, () => readAll(between));
    expect([failed(again), queries]).toEqual([[], 1]);
    expect((await counted(between, () => readAll(between, unmatched)))[1]).toBe(0);
    expect(between.notes.failures).toEqual([]);
    let due = 0;
    for (const minutes of [5, 10, 20]) {
      due += minutes * MINUTE;
      // The two applications are read alone, one after the other.
      for (const [time, calls] of [
        [due - 1, 1],
        [due, 2],
        [due + 20_000, 2],
      ] as const) {
        now = time;
        expect((await counted(between, () => readAll(between)))[1]).toBe(calls);
      }
    }
    between.fault = undefined;
    now = due + 41 * MINUTE;
    for (const least of [3, 1]) {
      const [back, fewer] = await counted(between, () => readAll(between));
      expect([back.map(isEmpty), fewer]).toEqual([silent, least]);
    }
  });

  it('are read again once they report again', async () => {
    const between = await startBetween({ applications: 2, keyTransactions: 2 });
    const { reader, call } = between;
    const list = async () => [await reader.listApplications({}, call), await reader.listKeyTransactions({}, call)];
    const keys = (await list())[1]!.map(({ id }) => ({ keyTransactionId: id }));
    const read = async () => {
      between.asked.length = 0;
      await readAll(between, IDS.slice(0, 2));
      await readSubjects(reader.rolling!, keys, RANGE, call);
    };
    between.fault = where(() => true, say(UNMATCHED, 'INVALID_INPUT'));
    await read();
    await read();
    expect(between.asked).toEqual([]);
    for (const reporting of [false, true]) {
      between.fault = (response, _, good) => (
        response.end(good.replace(/"reporting":\w+/, `"reporting":${reporting}`)),
        true
      );
      await list();
    }
    between.fault = undefined;
    await read();
    const [metrics, key] = between.asked.filter(({ nrql }) => !nrql.includes(`'Apdex/`)).map(({ nrql }) => nrql);
    expect(idsIn(metrics!)).toEqual(IDS.slice(0, 1));
    expect(key).toContain('entity.guid = ');
  });

  it('have no host rows either, and one call covers all hosts of an application', async () => {
    const between = await startBetween({ applications: 1, hostsPerApplication: 1 });
    between.fault = where(() => true, say(UNMATCHED, 'INVALID_INPUT'));
    const outcomes = await readSubjects(between.reader.metricData, hostsOf(IDS.slice(0, 1), 40), RANGE, between.call);
    expect(outcomes.every((outcome) => valueOf(outcome).metrics.size === 0)).toBe(true);
    expect(between.asked.length).toBe(1);
    expect(between.notes.failures).toEqual([]);
  });

  it('take one more call for their hosts when their time is over, for each kind of data', async () => {
    let now = 0;
    const between = await startBetween({ applications: 8, hostsPerApplication: 5 }, { monotonic: () => now });
    const subjects = hostsOf(IDS.slice(0, 8), 5);
    const rolling = subjects.map(({ applicationId, hostKey }) => ({ applicationId, hostKey }));
    const read = async () => {
      await readSubjects(between.reader.metricData, subjects, RANGE, between.call);
      await readSubjects(between.reader.rolling!, rolling, RANGE, between.call);
    };
    const [, healthy] = await counted(between, read);
    between.fault = whereIds((ids) => ids.includes(IDS[5]!), say(UNMATCHED, 'INVALID_INPUT'));
    await read();
    const more = [];
    for (let minute = 1; minute <= 10; minute += 1) {
      now += MINUTE;
      more.push((await counted(between, read))[1] - healthy);
    }
    expect(more).toEqual([0, 0, 0, 0, 1, 1, 0, 0, 0, 0]);
  });

  it('are left out of counters for at most ten minutes, which the next read covers again', async () => {
    let now = 0;
    const between = await startBetween({ applications: 1 }, { monotonic: () => now });
    const { reader, call } = between;
    const subject = { applicationId: IDS[0]!, hostKey: undefined, metrics: { names: ['HttpDispatcher'] } };
    between.fault = where(() => true, say(UNMATCHED, 'INVALID_INPUT'));
    const asked = [];
    for (let minute = 0; minute < 40; minute += 1) {
      if ((await counted(between, () => readOne(reader.counters, subject, call)))[1] > 0) asked.push(minute);
      now += MINUTE;
    }
    expect(asked).toEqual([0, 5, 15, 25, 35]);
  });

  it('do not affect the values of their key transactions', async () => {
    const between = await startBetween({ applications: 2, hostsPerApplication: 1, keyTransactions: 2 });
    const { reader, call } = between;
    await reader.listApplications({}, call);
    const list = await reader.listKeyTransactions({}, call);
    const subjects = list.map(({ id }) => ({ keyTransactionId: id }));
    between.fault = where((nrql) => nrql.includes('appId'), say(UNMATCHED, 'INVALID_INPUT'));
    const [first] = (await readSubjects(reader.rolling!, subjects, RANGE, call)).map(valueOf);
    expect(first?.summary?.requestRate).toBeGreaterThan(0);
  });
});

describe('a gauge below zero', () => {
  it('is accepted under any metric name, and makes neither its application nor the search for names fail', async () => {
    const between = await startBetween({ ...WORLD, applications: 2 });
    const row = { facet: ['1000001', 'Memory/NonHeap/Max'], c: 2, t: -2, x: -2, mn: -1, mx: -1 };
    between.fault = edit(({ results }) => results.push(row));
    const names = ['HttpDispatcher', 'Memory/NonHeap/Max'];
    const subject = { applicationId: IDS[0]!, hostKey: undefined, metrics: { names } };
    const { metrics } = await readOne(between.reader.metricData, subject, between.call, RANGE);
    expect(metrics.get('Memory/NonHeap/Max')).toMatchObject({ count: 2, sum: -2 });
    const custom = { ...subject, filters: ['Memory/'] };
    expect((await readOne(between.reader.customNames, custom, between.call, RANGE)).names).toContain(
      'Memory/NonHeap/Max',
    );
  });
});

describe('counters of one application', () => {
  it('are refused in a response of a size that only backfill accepts', async () => {
    const between = await startBetween({ applications: 1 });
    const { reader, call } = between;
    const subject = { applicationId: IDS[0]!, hostKey: undefined, metrics: { names: ['HttpDispatcher'] } };
    const results = new Array(100_000).fill({ facet: ['1', 'HttpDispatcher'] });
    between.fault = (response, { nrql }) => {
      if (!nrql.startsWith('SELECT')) return false;
      json(response, { data: { actor: { account: { nrql: { results } } } } });
      return true;
    };
    const failure = await failureOf(readOne(reader.counters, subject, call));
    expect(failure.failure.reason).toBe('too_large');
    expect(failure.message).toContain('250000');
  });
});

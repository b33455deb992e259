import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { json } from '../support/testServer.ts';
import { RANGE } from './nerdGraphReading.ts';
import { edit, startBetween } from './proxy.ts';
import type { Between } from './proxy.ts';
import { readAll } from '../support/reading.ts';

const WORLD = { applications: 1, hostsPerApplication: 1 };
const APPLICATION = 1_000_001;
/** The range of a day ends on the last ten minutes before the end. */
const DAY_END = Math.floor(RANGE.to / 600) * 600;

/** The texts of `LIKE` in a part of a query; they match beginnings, in any case. */
function patternsIn(text: string): string[] {
  const literals = [...text.matchAll(/metricTimesliceName LIKE '((?:\\.|[^'\\])*)'/g)];
  return literals.map(([, literal = '']) => literal.replace(/\\(.)/g, '$1').replace(/%$/, '').toLowerCase());
}

/** Serves these names, at most 10,000 in a result, without a word about the rest. */
function serve(between: Between, names: readonly string[], most = 10_000): void {
  between.fault = (response, { nrql }) => {
    if (!nrql.includes('uniques(')) return false;
    const [wanted = '', without = ''] = nrql.split(' NOT (');
    const begins = patternsIn(wanted).filter((text) => !text.startsWith('%'));
    const found = names.filter((name) => {
      const lower = name.toLowerCase();
      return begins.every((text) => lower.startsWith(text)) && !patternsIn(without).some((t) => lower.startsWith(t));
    });
    const [, begin, end] = /SINCE (\d+) UNTIL (\d+)/.exec(nrql) ?? [];
    const result = {
      results: [{ names: found.slice(0, most) }],
      otherResult: null,
      metadata: { facets: null, messages: [], timeWindow: { begin: Number(begin), end: Number(end) } },
    };
    json(response, { data: { actor: { account: { nrql: result } } } });
    return true;
  };
}

/** Cuts the rows of queries about the large application. Other queries pass. */
function leaveRowsOut(response: ServerResponse, nrql: string, good: string): boolean {
  if (!/appId (= 1000001|IN \(1000001)/.test(nrql)) return false;
  const answer = JSON.parse(good) as { data: { actor: { account: { nrql: { otherResult: unknown } } } } };
  answer.data.actor.account.nrql.otherResult = { c: 7 };
  json(response, answer);
  return true;
}

const many = (count: number, begin: string): string[] =>
  Array.from({ length: count }, (_, index) => `${begin}${index}`);

async function list(names: readonly string[], filter?: string) {
  const between = await startBetween(WORLD);
  serve(between, names);
  const query = { applicationId: APPLICATION, maxPages: 20, ...(filter === undefined ? {} : { name: filter }) };
  const found = await between.reader.listMetricNames(query, between.call);
  const queries = between.asked.map(({ nrql }) => nrql);
  return { ...found, names: found.names.map(({ name }) => name), queries, notes: between.notes };
}

describe('metric names that exceed one query', () => {
  it('are read by their beginnings, each once', async () => {
    const names = [
      ...many(14_000, 'Custom/Queue/jobs/'),
      ...many(9_000, 'WebTransaction/'),
      ...many(4_000, 'custom/q'),
    ];
    const { names: found, complete, queries, notes } = await list(names);
    expect(complete).toBe(true);
    expect(found).toEqual([...names].sort());
    expect(notes.failures).toEqual([]);
    expect(queries.every((text) => text.length < 8_000)).toBe(true);
    // A beginning that thousands of names share takes no query for each letter.
    expect(queries.length).toBeLessThan(35);
  });

  it('may hold quotes, backslashes, wildcards and letters of any language', async () => {
    const odd = ["O'Hara\\", '%', '_', 'Größe/ß', '結果/', 'İstanbul/', '😀/'];
    const names = odd.flatMap((begin) => many(2_000, begin));
    expect((await list(names)).names).toEqual([...names].sort());
  });

  it('may begin with another whole name', async () => {
    const names = ['Custom', 'Custom/', ...many(11_000, 'Custom/')];
    expect((await list(names)).names).toEqual([...names].sort());
  });

  it('take no further query if one query holds them', async () => {
    const { names, queries } = await list(many(9_999, 'Custom/'));
    expect(names).toHaveLength(9_999);
    expect(queries).toHaveLength(1);
  });

  it('are empty where no application was matched, which is not a failure', async () => {
    const between = await startBetween(WORLD);
    const message = 'No application was matched (did you specify appId, appName or entity.guid?)';
    between.fault = (response) => (json(response, { data: null, errors: [{ message }] }), true);
    const found = await between.reader.listMetricNames({ applicationId: APPLICATION }, between.call);
    expect(found).toMatchObject({ names: [], complete: true });
    expect(between.notes.failures).toEqual([]);
  });

  it('are the names of the day before the end, rounded to ten minutes, where requested', async () => {
    const between = await startBetween(WORLD);
    await between.reader.listMetricNames({ applicationId: APPLICATION, to: RANGE.to }, between.call);
    expect(between.asked[0]?.nrql).toContain(`SINCE ${(DAY_END - 86_400) * 1000} UNTIL ${DAY_END * 1000}`);
  });

  it('are filtered by a text in every query', async () => {
    const { queries } = await list(many(12_000, 'Custom/jobs/'), 'jobs');
    expect(queries.length).toBeGreaterThan(1);
    expect(queries.every((text) => text.includes(`metricTimesliceName LIKE '%jobs%'`))).toBe(true);
  });

  it.each([9_999, 10_000, 10_001])('are all read where there are %d', async (count) => {
    const { names, notes } = await list(many(count, 'Custom/'));
    expect(names).toHaveLength(count);
    expect(notes.failures).toEqual([]);
  });

  it('that only wildcards could distinguish are a failure, never a part of the list', async () => {
    const between = await startBetween(WORLD);
    serve(between, many(10_001, '%'));
    await expect(between.reader.listMetricNames({ applicationId: APPLICATION }, between.call)).rejects.toMatchObject({
      failure: { reason: 'too_large' },
    });
  });
});

it('a list of metric names that a message calls incomplete is a failure', async () => {
  const between = await startBetween(WORLD);
  between.fault = edit((answer) => (answer.metadata.messages = ['Only partial results are available']));
  await expect(between.reader.listMetricNames({ applicationId: APPLICATION }, between.call)).rejects.toMatchObject({
    message: expect.stringContaining(
      'New Relic reports an incomplete result: Only partial results are available',
    ) as string,
    failure: { reason: 'too_large' },
  });
  expect(between.asked).toHaveLength(1);
});

describe('the names of custom metrics', () => {
  const subject = (applicationId: number, ...filters: string[]) => ({ applicationId, filters });

  it('of many applications come with one query, matched with their case, without single transactions', async () => {
    const between = await startBetween({ applications: 3, hostsPerApplication: 1 });
    const rows = [
      ['1000001', 'Custom/Queue/a/depth'],
      ['1000001', 'custom/queue/b/depth'],
      ['1000001', 'Other/Jobs/c'],
      ['1000002', 'Custom/Queue/d/depth'],
    ];
    between.fault = (response, { nrql }) => {
      if (!nrql.startsWith('SELECT')) return false;
      const results = rows.map((facet) => ({ facet, c: 1, t: 1, x: 1, mn: 1, mx: 1, q: 1 }));
      const timeWindow = { begin: (RANGE.to - 86_400) * 1000, end: RANGE.to * 1000 };
      const metadata = { facets: ['appId', 'metricTimesliceName'], messages: [], timeWindow };
      json(response, { data: { actor: { account: { nrql: { results, otherResult: { c: 0 }, metadata } } } } });
      return true;
    };
    const subjects = [
      subject(1_000_001, 'Custom/Queue/', 'Jobs/c'),
      subject(1_000_002, 'Custom/Queue/', 'Jobs/c'),
      subject(1_000_003),
    ];
    expect(await readAll(between.reader.customNames, subjects, RANGE, between.call)).toEqual([
      { value: { names: ['Custom/Queue/a/depth', 'Other/Jobs/c'] } },
      { value: { names: ['Custom/Queue/d/depth'] } },
      { value: { names: [] } },
    ]);
    expect(between.asked).toHaveLength(1);
    const [{ nrql } = { nrql: '' }] = between.asked;
    expect(nrql).toContain('appId IN (1000001,1000002) AND scope IS NULL');
    expect(nrql).toContain("metricTimesliceName LIKE '%Custom/Queue/%' OR metricTimesliceName LIKE '%Jobs/c%'");
    expect(nrql).toContain(`SINCE ${(DAY_END - 86_400) * 1000} UNTIL ${DAY_END * 1000} LIMIT MAX`);
  });

  it.each([
    ['cannot be read', 'no', 'SERVER_ERROR', 'server'],
    ['is too big', 'that query is a little too big', 'INVALID_INPUT', 'too_large'],
  ])('fail for the one application whose list of names %s', async (_, message, errorClass, reason) => {
    const between = await startBetween({ applications: 2, hostsPerApplication: 1 });
    between.fault = (response, { nrql }, good) => {
      if (nrql.includes('uniques(')) {
        json(response, { data: null, errors: [{ message, extensions: { errorClass } }] });
        return true;
      }
      return leaveRowsOut(response, nrql, good);
    };
    const subjects = [subject(1_000_001, 'Custom/Queue/'), subject(1_000_002, 'Custom/Queue/')];
    const [large, small] = await readAll(between.reader.customNames, subjects, RANGE, between.call);
    expect(large).toHaveProperty('error.failure.reason', reason);
    expect(small).toHaveProperty('value');
  });

  it('are read as a list of names for an application with more names than a result has rows', async () => {
    const between = await startBetween({ applications: 2, hostsPerApplication: 1 });
    const names = many(12_000, 'Custom/Queue/');
    serve(between, [...names, ...many(10, 'custom/queue/')]);
    const uniques = between.fault!;
    between.fault = (response, asked, good) => {
      if (uniques(response, asked, good) === true) return true;
      return leaveRowsOut(response, asked.nrql, good);
    };
    const subjects = [subject(1_000_001, 'Custom/Queue/'), subject(1_000_002, 'Custom/Queue/')];
    const [large, small] = await readAll(between.reader.customNames, subjects, RANGE, between.call);
    expect(large).toEqual({ value: { names: [...names].sort() } });
    expect(small).toHaveProperty('value');
    const alone = between.asked.map(({ nrql }) => nrql).filter((text) => text.includes('uniques('));
    expect(alone.length).toBeGreaterThan(1);
    expect(alone.every((text) => text.includes('appId = 1000001 AND scope IS NULL AND metricTimesliceName LIKE'))).toBe(
      true,
    );
  });
});

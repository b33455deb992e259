import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BOUNDS } from '../../../src/api/http/response.ts';
import type { UpstreamError } from '../../../src/api/upstreamError.ts';
import { endOf } from '../support/endOf.ts';
import { readAll, type Reading } from '../support/reading.ts';
import { json, listen } from '../support/testServer.ts';
import { metricDataOf, RANGE, readNerdGraph } from './nerdGraphReading.ts';
import { edit, startBetween, type Between, type Fault } from './proxy.ts';

const APP = 1_000_001;
const WORLD = { applications: 1, keyTransactions: 0, hostsPerApplication: 1 };

/** The end of the first subject of a batch. */
async function endOfFirst(outcomes: Promise<readonly object[]>): Promise<string> {
  const [first] = await outcomes;
  const { error } = first as { readonly error?: UpstreamError };
  return error === undefined ? 'good' : `${error.failure.reason}: ${error.message}`;
}

/** Gives responses to queries of a kind this number of rows. */
const rows = (count: number, isStruck: (nrql: string) => boolean, facetOf: (index: number) => string[]): Fault =>
  edit((response) => {
    const row = (index: number) => ({ facet: facetOf(index), c: 1, t: 1, x: 1, mn: 1, mx: 1 });
    response.results = Array.from({ length: count }, (_, index) => row(index));
    response.otherResult = null;
  }, isStruck);

/** The bodies of responses to queries of a kind, changed as text. */
const bodies =
  (change: (good: string) => string, isStruck: (nrql: string) => boolean): Fault =>
  (response, { nrql }, good) => {
    if (nrql === '' || !isStruck(nrql)) return false;
    response.end(change(good));
    return true;
  };

/** A body of this number of bytes: spaces are no elements. */
const padded = (count: number) => (good: string) => good + ' '.repeat(count - Buffer.byteLength(good));

/** A body of this number of elements. */
const filled = (count: number) => (good: string) => {
  const bare = good.replace(/}$/, ',"rest":[');
  const found = bare.replace(/"(?:\\.|[^"\\])*"/g, '').match(/[{[,]/g)!.length;
  return `${bare}${'0,'.repeat(count - found)}0]}`;
};

const isOfRows = (nrql: string): boolean => nrql.includes('FACET appId, metricTimesliceName');
const readMetricData: Bound['read'] = ({ reader, call }) =>
  endOfFirst(readAll(reader.metricData, metricDataOf([APP]), RANGE, call));
interface Entity {
  name: string;
  guid: string;
}

/** Changes the pages of a search. */
const search =
  (change: (found: { count: number; results: { nextCursor: string | null; entities: Entity[] } }) => void): Fault =>
  (response, { text: asked }, good) => {
    if (!asked.includes('entitySearch')) return false;
    const body = JSON.parse(good) as { data: { actor: { entitySearch: Parameters<typeof change>[0] } } };
    change(body.data.actor.entitySearch);
    // The response to an unknown cursor does not matter here.
    response.end(JSON.stringify({ data: body.data }));
    return true;
  };

const listApplications = ({ reader, call }: Reading): Promise<string> => endOf(reader.listApplications({}, call));

interface Bound {
  readonly what: string;
  readonly most: number;
  /** Changes responses so that they have this number of bounded items. */
  readonly fault: (count: number) => Fault;
  readonly read: (between: Between) => Promise<string>;
  /** The subject and the advice in the message, after the bound. */
  readonly says: RegExp;
}

const BOUNDS_OF_NERDGRAPH: Bound[] = [
  {
    what: 'datastore types of an application',
    most: 4_999,
    fault: (count) =>
      rows(
        count,
        (nrql) => nrql.includes("LIKE 'Datastore/%"),
        (index) => [String(APP), `Datastore/D${index}/allWeb`],
      ),
    read: ({ reader, call }) => endOfFirst(readAll(reader.metricData, metricDataOf([APP]), RANGE, call)),
    says: /application 1000001: .*applications\.exclude/,
  },
  {
    what: 'hosts of an application',
    most: 4_999,
    fault: (count) =>
      rows(
        count,
        (nrql) => nrql.includes('FACET appId, host'),
        (index) => [String(APP), `host-${index}`, 'HttpDispatcher'],
      ),
    read: ({ reader, call }) => endOfFirst(readAll(reader.hosts, [{ applicationId: APP }], RANGE, call)),
    says: /application 1000001: .*applications\.settings: hosts: false/,
  },
  {
    what: 'entities of a page',
    most: 2_000,
    fault: (count) =>
      search((found) => {
        const [one] = found.results.entities;
        const entities = Array.from({ length: count }, (_, index) => ({
          ...one!,
          guid: `guid${index}`,
          applicationId: 1 + index,
        }));
        Object.assign(found, { count, results: { nextCursor: null, entities } });
      }),
    read: listApplications,
    says: /page 1 has more than 2000 entities/,
  },
  {
    what: 'pages of a list',
    most: 200,
    fault: (count) => {
      let page = 0;
      return search((found) => {
        page += 1;
        const entities = [{ name: 'One', guid: `guid${page}`, applicationId: page, reporting: true }];
        Object.assign(found, { count, results: { nextCursor: page < count ? `page ${page}` : null, entities } });
      });
    },
    read: listApplications,
    says: /does not end within 200 pages/,
  },
  {
    what: 'bytes of a query for metric data',
    most: BOUNDS.query.bytes,
    fault: (count) => bodies(padded(count), isOfRows),
    read: readMetricData,
    says: /application 1000001: .*applications\.exclude/,
  },
  {
    what: 'elements of a query for metric data',
    most: BOUNDS.query.elements,
    fault: (count) => bodies(filled(count), isOfRows),
    read: readMetricData,
    says: /application 1000001: .*applications\.exclude/,
  },
];

describe.each(BOUNDS_OF_NERDGRAPH)('$what: $most', ({ most, fault, read, says }) => {
  it.each([most - 1, most])('accepts %d', async (count) => {
    const between = await startBetween(WORLD, { requestTimeoutMs: 10_000 });
    await between.reader.listApplications({}, between.call);
    between.fault = fault(count);
    expect(await read(between)).toBe('good');
    expect(between.notes.failures.filter(({ reason }) => reason !== 'too_large')).toEqual([]);
  });

  it('refuses one more, and the message names the bound, the subject and what to change', async () => {
    const between = await startBetween(WORLD, { requestTimeoutMs: 10_000 });
    await between.reader.listApplications({}, between.call);
    between.fault = fault(most + 1);
    const end = await read(between);
    expect(end).toMatch(/^too_large: /);
    expect(end).toMatch(says);
    expect(between.notes.failures.filter(({ reason }) => reason !== 'too_large')).toEqual([]);
  });
});

/** An account whose names of an application take this number of queries: the first one gives as many beginnings. */
async function startNames(count: number): Promise<Reading & { asked: () => number }> {
  let asked = 0;
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { nrql } = (JSON.parse(body) as { variables: { nrql: string } }).variables;
      const [, begin, end] = /SINCE (\d+) UNTIL (\d+)/.exec(nrql) ?? [];
      const isList = nrql.includes('uniques(');
      if (isList) asked += 1;
      // One more query gives the beginnings, and another one covers all other names.
      const names = Array.from({ length: isList && asked === 1 ? 10_000 : 0 }, (_, index) => {
        return `${String.fromCodePoint(0x4e00 + (index % (count - 2)))}/Custom/${index}`;
      });
      const result = {
        results: isList ? [{ names }] : [],
        // The result is cut, so that the names are read as a list.
        otherResult: isList ? null : { c: 7 },
        metadata: {
          facets: isList ? null : ['appId', 'metricTimesliceName'],
          messages: [],
          timeWindow: { begin: Number(begin), end: Number(end) },
        },
      };
      json(response, { data: { actor: { account: { nrql: result } } } });
    });
  });
  const { port, close } = await listen(server);
  onTestFinished(close);
  return { ...readNerdGraph(`http://127.0.0.1:${port}/graphql`), asked: () => asked };
}

describe.each<[string, (reading: Reading) => Promise<string>, RegExp]>([
  [
    'a custom metric',
    ({ reader, call }) =>
      endOfFirst(readAll(reader.customNames, [{ applicationId: APP, filters: ['Custom/'] }], RANGE, call)),
    /^too_large: application 1000001: a longer literal part in "match" \(custom_metrics\)/,
  ],
  [
    'the command metric-names',
    ({ reader, call }) => endOf(reader.listMetricNames({ applicationId: APP }, call)),
    /^too_large: .*application 1000001: .*narrow them by a part of the name/,
  ],
])('the limit of 500 queries for the names of %s', (_, read, says) => {
  it.each([499, 500])('allows %d', async (count) => {
    const names = await startNames(count);
    expect(await read(names)).toBe('good');
    expect(names.asked()).toBe(count);
  });

  it('refuses one more, and the message names the bound, the subject and what to change', async () => {
    const names = await startNames(501);
    expect(await read(names)).toMatch(says);
    expect(names.asked()).toBe(500);
    expect(new Set(names.notes.failures.map(({ reason }) => reason))).toEqual(new Set(['too_large']));
  });
});

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EntityReader, GoldenSubject } from '../../../src/api/upstreamReader.ts';
import {
  readDefinition,
  sourceKey,
  UnreadableDefinition,
  type GoldenDefinition,
} from '../../../src/nrql/goldenMetric.ts';
import { readStatement } from '../../../src/nrql/statement.ts';
import { listen } from '../support/testServer.ts';
import { RANGE, readNerdGraph } from './nerdGraphReading.ts';

/** A query of a file. Missing members have the defaults in New Relic's documentation of these files. */
type FileQuery = Partial<Omit<GoldenDefinition, 'select'>> & Pick<GoldenDefinition, 'select'>;
type FileMetric = { readonly query?: FileQuery; readonly queries?: Readonly<Record<string, FileQuery>> };
type Files = Readonly<Record<string, Readonly<Record<string, FileMetric>>>>;

const files = JSON.parse(
  await readFile(new URL('./entityDefinitions/goldenMetrics.json', import.meta.url), 'utf8'),
) as Files;

/** The golden metrics that an entity with data of one provider has, as NerdGraph gives their definitions. */
function* entitiesOf(metrics: Files[string]) {
  const providers = new Set(Object.values(metrics).flatMap(({ queries }) => Object.keys(queries ?? { query: {} })));
  for (const provider of providers) {
    const definitions = Object.entries(metrics).flatMap(([name, { query, queries }]) => {
      const chosen = query ?? queries?.[provider];
      if (chosen === undefined) return [];
      const defaults = { from: 'Metric', eventId: 'entity.guid', eventObjectId: 'ENTITY_GUIDS' as const };
      return [{ name, definition: { ...defaults, ...chosen } satisfies GoldenDefinition }];
    });
    yield definitions;
  }
}

/** Reads the golden metrics of an entity from a service without data. Returns the queries that it got. */
async function startSilent(): Promise<(subject: GoldenSubject) => Promise<readonly string[]>> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { nrql } = (JSON.parse(body) as { variables: { nrql: string } }).variables;
      asked.push(nrql);
      const timeWindow = { begin: RANGE.from * 1000, end: RANGE.to * 1000 };
      const answer = { results: [], metadata: { facets: ['entity.guid'], messages: [], timeWindow } };
      response.end(JSON.stringify({ data: { actor: { account: { nrql: answer } } } }));
    });
  });
  const { port, close } = await listen(server);
  onTestFinished(close);
  const { reader, call } = readNerdGraph(`http://127.0.0.1:${port}/graphql`, { maxRetries: 0 });
  const { goldenMetrics }: EntityReader = reader.entities!;
  return async (subject) => {
    const { calls } = goldenMetrics.take([subject], RANGE);
    const [outcome] = await goldenMetrics.read([subject], RANGE, call);
    expect(outcome).toMatchObject({ value: { values: [], failures: [], notNumbers: [] } });
    expect(asked).toHaveLength(calls);
    return asked.splice(0);
  };
}

/** The columns of a query, each with the text after the last column except the time. */
function columnsOf(query: string): readonly string[] {
  const [plain = ''] = query.split(/ SINCE \d+ UNTIL \d+ LIMIT MAX$/);
  const { problems, columns } = readStatement(plain);
  expect(problems, query).toEqual([]);
  const parts = plain.slice('SELECT '.length).split(/ AS (?:n|m\d+)(?:, )?/);
  const rest = parts.pop();
  expect(columns).toHaveLength(parts.length);
  return parts.map((part) => `${part}${rest}`);
}

const isOfTimeslices = (column: string): boolean => /\bapm\.|newrelic\.timeslice\.value/.test(column);
const isCount = (column: string): boolean => /^(count|rate)\([^/]* FROM/.test(column);

describe('the public definitions of golden metrics', () => {
  it('are all accepted and sent: each is a column behind a count, and timeslices have separate queries', async () => {
    const queriesFor = await startSilent();
    const counts = { files: 0, metrics: 0, read: 0, refused: 0, queries: 0, columns: 0, ofTimeslices: 0 };
    for (const [type, metrics] of Object.entries(files)) {
      counts.files += 1;
      counts.metrics += Object.keys(metrics).length;
      for (const definitions of entitiesOf(metrics)) {
        const sources = new Map<string, GoldenSubject['columns'][number]['source']>();
        const columns = definitions.flatMap(({ name, definition }) => {
          try {
            const { source, select } = readDefinition(definition);
            const key = sourceKey(source);
            sources.set(key, sources.get(key) ?? source);
            counts.read += 1;
            return [{ name, select, source: sources.get(key)! }];
          } catch (error) {
            if (!(error instanceof UnreadableDefinition)) throw error;
            counts.refused += 1;
            return [];
          }
        });
        const queries = await queriesFor({ type, guid: type, columns, window: undefined, endsBefore: 0 });
        const sent = queries.flatMap((query) => {
          const [first = '', ...others] = columnsOf(query);
          counts.queries += 1;
          const [, count, from = ''] = /^(datapointCount\(\)|count\(\*\)) FROM (\S+)/.exec(first) ?? [];
          if (count !== undefined) {
            expect(count, query).toBe(from === 'Metric' ? 'datapointCount()' : 'count(*)');
            expect(others.filter(isOfTimeslices)).toEqual([]);
            return others;
          }
          const all = [first, ...others];
          expect(all.filter(isOfTimeslices)).toEqual(all);
          expect(isCount(first) || !others.some(isCount), query).toBe(true);
          counts.ofTimeslices += all.length;
          return all;
        });
        const expected = columns.map(({ select, source: { from, where, attribute } }) => {
          const condition = where === undefined ? '' : `(${where}) AND `;
          return `${select} FROM ${from} WHERE ${condition}${attribute} IN ('${type}') FACET ${attribute}`;
        });
        expect(sent.toSorted()).toEqual([...new Set(expected)].toSorted());
        counts.columns += sent.length;
      }
    }
    expect(counts).toMatchInlineSnapshot(`
      {
        "columns": 2832,
        "files": 588,
        "metrics": 2167,
        "ofTimeslices": 22,
        "queries": 1027,
        "read": 2835,
        "refused": 0,
      }
    `);
  });
});

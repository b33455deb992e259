import { beforeEach, describe, expect, it } from 'vitest';
import { databaseKind } from '../../../src/formulas/responseTimes.ts';
import { addCalls } from '../../../src/tools/backfill/rollingWindows.ts';
import { documentText } from '../../../src/tools/backfill/backfill.ts';
import { addSamples, type EntitySeries } from '../../../src/tools/backfill/backfillApplication.ts';
import { WINDOW_FAMILIES } from '../../../src/metrics/windowFamilies.ts';
import { readDocument } from './readDocument.ts';

describe('the database kind of a whole range', () => {
  const calls = new Map<string, { readonly count: number | undefined }>();
  const choose = (name: string, count?: number) => {
    addCalls(calls, { seconds: 60, metrics: new Map([[name, { count }]]) });
    return databaseKind({ seconds: 60, metrics: calls }, 'java', 'auto');
  };
  beforeEach(() => calls.clear());

  it('is decided over all minutes: one with calls anywhere is enough', () => {
    choose('Datastore/MySQL/allWeb', 0);
    expect(choose('Database/allWeb', 9)).toBe('database');
    expect(choose('Datastore/MySQL/allWeb', 1)).toBe('datastore');
  });

  it('is not decided where the calls of a metric never could be read', () => {
    expect(choose('Datastore/MySQL/allWeb')).toBeUndefined();
    expect(choose('Datastore/MySQL/allWeb', 2)).toBe('datastore');
  });
});

const familyOf = (suffix: string) =>
  WINDOW_FAMILIES.application.find(({ name }) => name === `newrelic_application_${suffix}`)!;

describe('documentText', () => {
  it('writes family by family, series by series, each by time, with the metadata once', async () => {
    const [responseTime, componentTime] = [familyOf('response_time_seconds'), familyOf('component_time_seconds')];
    const tables = ['1', '2'].map((id) => {
      const table = new Map<string, Map<string, EntitySeries>>();
      for (const time of [1_791_979_200, 1_791_979_260]) {
        const component = (name: string) => ({ family: componentTime, labels: { component: name }, value: 1e-7 });
        const response = { family: responseTime, labels: undefined, value: 0.25 };
        addSamples(table, time, [component('External'), response, component('Memcache')]);
      }
      const read = (family: string) => Promise.resolve([...(table.get(family)?.values() ?? [])]);
      return { labels: { app: 'a "b"\\\n', app_id: id }, families: [...table.keys()], read };
    });
    let document = '';
    for await (const piece of documentText([responseTime, componentTime], tables)) document += piece;
    const series = readDocument(document);
    const labels = (id: string): string => `app="a \\"b\\"\\\\\\n",app_id="${id}"`;
    expect([...series.keys()]).toEqual([
      `newrelic_application_response_time_seconds{${labels('1')}}`,
      `newrelic_application_response_time_seconds{${labels('2')}}`,
      ...['1', '2'].flatMap((id) =>
        ['External', 'Memcache'].map(
          (name) => `newrelic_application_component_time_seconds{${labels(id)},component="${name}"}`,
        ),
      ),
    ]);
    expect([...series.values()].map((points) => [...points.keys()])).toEqual(
      Array.from({ length: 6 }, () => [1_791_979_200, 1_791_979_260]),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { DatabaseTally } from '../../../src/tools/backfill/rollingWindows.ts';
import { documentText } from '../../../src/tools/backfill/backfill.ts';
import { addSamples, type SeriesTable } from '../../../src/tools/backfill/backfillApplication.ts';
import { WINDOW_FAMILIES } from '../../../src/metrics/windowFamilies.ts';
import { readDocument } from './readDocument.ts';

describe('DatabaseTally', () => {
  const minute = (name: string, calls?: number) => ({
    seconds: 60,
    metrics: new Map([[name, { count: calls }]]),
  });

  it('decides over all minutes: one with calls anywhere is enough', () => {
    const tally = new DatabaseTally();
    tally.add(minute('Datastore/MySQL/allWeb', 0));
    tally.add(minute('Database/allWeb', 9));
    expect(tally.choose('java', 'auto')).toBe('database');
    tally.add(minute('Datastore/MySQL/allWeb', 1));
    expect(tally.choose('java', 'auto')).toBe('datastore');
    expect(tally.choose('java', 'database')).toBe('database');
    expect(new DatabaseTally().choose('java', 'auto')).toBe('none');
  });

  it('decides nothing where the calls of a metric never could be read', () => {
    const tally = new DatabaseTally();
    tally.add(minute('Datastore/MySQL/allWeb'));
    expect(tally.choose('java', 'auto')).toBeUndefined();
    tally.add(minute('Datastore/MySQL/allWeb', 2));
    expect(tally.choose('java', 'auto')).toBe('datastore');
  });
});

const familyOf = (suffix: string) =>
  WINDOW_FAMILIES.application.find(({ name }) => name === `newrelic_application_${suffix}`)!;

describe('documentText', () => {
  it('writes family by family, series by series, each by time, with the metadata once', async () => {
    const [responseTime, componentTime] = [familyOf('response_time_seconds'), familyOf('component_time_seconds')];
    const tables = ['1', '2'].map((id) => {
      const table: SeriesTable = new Map();
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

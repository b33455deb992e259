import { describe, expect, it } from 'vitest';
import { metricsPage } from '../../scripts/generate/metricsPage.ts';
import { averageTime } from '../../src/formulas/responseTimes.ts';
import { sectionsOf } from '../../src/metrics/catalogue.ts';
import type { FamilyScope } from '../../src/metrics/family.ts';
import { WINDOW_TABLE } from '../../src/metrics/windowFamilies.ts';
import { read, windowRowMaker, windowTable } from '../../src/metrics/windowTable.ts';

/** The example of "Adding a window metric" in CONTRIBUTING.md. */
const garbageCollection = (scope: FamilyScope) =>
  windowRowMaker(scope)({
    suffix: 'garbage_collection_time_seconds',
    meaning: 'Average time of a garbage collection',
    source: 'GC/cumulative:average_response_time / 1000',
    reads: { collections: read('GC/cumulative', 'call_count', 'average_response_time') },
    calculate: (of) => averageTime(of.collections),
  });

describe('a new row among the window families', () => {
  const { rows } = WINDOW_TABLE;
  const table = windowTable({
    application: [...rows.application, garbageCollection('application')],
    host: [...rows.host, garbageCollection('host')],
  });
  const sections = sectionsOf(table.rows);

  it('is asked for, of applications and hosts, over both interfaces', () => {
    expect(WINDOW_TABLE.queryNames([])).not.toContain('GC/cumulative');
    for (const scope of ['application', 'host'] as const) {
      expect(table.queryNames([], scope)).toContain('GC/cumulative');
      expect(table.queryNames([], scope, 'nerdgraph')).toContain('GC/cumulative');
    }
  });

  it('has the values that it reads kept', () => {
    expect(WINDOW_TABLE.usedValues('GC/cumulative')).toEqual([]);
    expect(table.usedValues('GC/cumulative')).toEqual(['call_count', 'average_response_time']);
  });

  it('is in the catalogue, with HELP, group and unit', () => {
    const family = sections
      .flatMap(({ families }) => families)
      .find(({ name }) => name === 'newrelic_host_garbage_collection_time_seconds');
    expect(family).toMatchObject({
      help:
        'Average time of a garbage collection. Source: GC/cumulative:average_response_time / 1000. ' +
        'Time base: collection window; refreshed at most once a minute.',
      group: 'host_metrics',
      unit: 'seconds',
      interfaces: ['rest', 'nerdgraph'],
    });
  });

  it('has a line in docs/metrics.md', () => {
    const line = metricsPage(sections)
      .split('\n')
      .find((text) => text.startsWith('| `newrelic_application_garbage_collection_time_seconds` '));
    expect(line?.split('|').map((cell) => cell.trim())).toEqual([
      '',
      '`newrelic_application_garbage_collection_time_seconds`',
      '',
      'Average time of a garbage collection',
      'GC/cumulative:average_response_time / 1000',
      'collection window',
      'seconds',
      'REST, NerdGraph',
      '',
    ]);
  });

  it('has a sample', () => {
    const metrics = new Map([['GC/cumulative', { call_count: 4, average_response_time: 30 }]]);
    const values = { seconds: 1800, metrics };
    expect(WINDOW_TABLE.windowSamples('host', values, undefined)).toEqual([]);
    const samples = table.windowSamples('host', values, undefined);
    expect(samples.map(({ family, value }) => [family.name, value])).toEqual([
      ['newrelic_host_garbage_collection_time_seconds', 0.03],
    ]);
  });
});

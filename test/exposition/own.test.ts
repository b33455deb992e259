import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { SeriesMask } from '../../src/exposition/seriesMask.ts';
import { writeExporterFamilies } from '../../src/exposition/exposition.ts';
import { readRegistry } from '../../src/telemetry/telemetry.ts';

const MASK = new SeriesMask(String, () => 0);
const NONE: ReadonlyMap<string, number> = new Map();

function registry(): Registry {
  const registers = [new Registry()];
  const labelNames = ['a'];
  new Counter({ name: 'newrelic_calls_total', help: 'Calls "made".', labelNames, registers }).inc({ a: '200' });
  const durations = new Histogram({ name: 'newrelic_seconds', help: 'x', labelNames, registers, buckets: [0.5, 1] });
  durations.observe({ a: 'q"\\\n' }, 0.7);
  new Gauge({ name: 'newrelic_none', help: 'x', labelNames, registers });
  return registers[0]!;
}

const written = async (from: Registry, format: 'text' | 'openmetrics') => {
  return [...writeExporterFamilies(await readRegistry(from), NONE, format, MASK)].join('');
};

describe("the client library's metrics", () => {
  it('are written in text', async () => {
    expect(await written(registry(), 'text')).toBe(
      [
        '# HELP newrelic_calls_total Calls "made".',
        '# TYPE newrelic_calls_total counter',
        'newrelic_calls_total{a="200"} 1',
        '# HELP newrelic_seconds x',
        '# TYPE newrelic_seconds histogram',
        'newrelic_seconds_bucket{a="q\\"\\\\\\n",le="0.5"} 0',
        'newrelic_seconds_bucket{a="q\\"\\\\\\n",le="1"} 1',
        'newrelic_seconds_bucket{a="q\\"\\\\\\n",le="+Inf"} 1',
        'newrelic_seconds_sum{a="q\\"\\\\\\n"} 0.7',
        'newrelic_seconds_count{a="q\\"\\\\\\n"} 1',
        '',
      ].join('\n'),
    );
  });

  it('are written in OpenMetrics, with unit, escaped HELP, family names of counters and canonical bounds', async () => {
    expect(await written(registry(), 'openmetrics')).toBe(
      [
        '# TYPE newrelic_calls counter',
        '# HELP newrelic_calls Calls \\"made\\".',
        'newrelic_calls_total{a="200"} 1',
        '# TYPE newrelic_seconds histogram',
        '# UNIT newrelic_seconds seconds',
        '# HELP newrelic_seconds x',
        'newrelic_seconds_bucket{a="q\\"\\\\\\n",le="0.5"} 0',
        'newrelic_seconds_bucket{a="q\\"\\\\\\n",le="1.0"} 1',
        'newrelic_seconds_bucket{a="q\\"\\\\\\n",le="+Inf"} 1',
        'newrelic_seconds_sum{a="q\\"\\\\\\n"} 0.7',
        'newrelic_seconds_count{a="q\\"\\\\\\n"} 1',
        '',
      ].join('\n'),
    );
  });
});

describe('a family of the exporter', () => {
  it('is written without values that are not finite, and not at all without values', () => {
    const series = [NaN, Infinity].map((one) => ({ suffix: '', labels: {}, value: one }));
    expect([
      ...writeExporterFamilies([{ name: 'newrelic_x', help: 'x', type: 'gauge', series }], NONE, 'text', MASK),
    ]).toEqual([]);
  });

  it('is left out beside a collected family of the same name', () => {
    const series = [{ suffix: '', labels: {}, value: 1 }];
    const family = { name: 'newrelic_x', help: 'x', type: 'gauge', series } as const;
    expect([...writeExporterFamilies([family], new Map([['newrelic_x', 1]]), 'text', MASK)]).toEqual([]);
    expect([...writeExporterFamilies([family], new Map([['newrelic_y', 1]]), 'text', MASK)]).not.toEqual([]);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { nrql } from './client.ts';
import { simulatorOfFile, MINUTE } from '../client.ts';

const NOW = Date.UTC(2026, 10, 20, 14, 7, 31);
const TO = Math.floor(NOW / MINUTE) * MINUTE - 2 * MINUTE;
const DAY = 1440;
const MINUTES: Readonly<Record<string, number>> = {
  '5m': 5,
  '30m': 30,
  '1h': 60,
  '4h': 240,
  '1d': DAY,
  '30d': 30 * DAY,
};

interface Pack {
  readonly queries: readonly {
    readonly name: string;
    readonly nrql: string;
    readonly window?: string;
    readonly delay?: string;
    readonly limit?: number;
    readonly metrics: readonly { readonly name: string; readonly value: string }[];
  }[];
}

const simulator = await simulatorOfFile({ now: () => NOW, nrqlSnapping: true });

const PACKS = readdirSync('packs').filter((file) => file.endsWith('.yaml'));
const [, recipes = ''] = /## Recipes\s+```yaml\n([\s\S]*?)```/.exec(readFileSync('docs/queries.md', 'utf8')) ?? [];

describe.each([
  ...PACKS.map((file) => [`the shipped pack ${file}`, readFileSync(`packs/${file}`, 'utf8')] as const),
  ['the recipes of the page on queries', recipes] as const,
])('%s', (_, text) => {
  const { queries } = parse(text) as Pack;

  it.each(queries)('has rows of $name with every column that its metrics name', async (query) => {
    const minutes = MINUTES[query.window ?? '30m']!;
    const to = query.delay === undefined ? TO : TO + 2 * MINUTE - MINUTES[query.delay]! * MINUTE;
    const time = `SINCE ${to - minutes * MINUTE} UNTIL ${to} LIMIT ${query.limit ?? 'MAX'}`;
    const { results, metadata } = await nrql(simulator, `${query.nrql}\n${time}`);
    expect(results.length).toBeGreaterThan(0);
    expect(metadata.timeWindow).toMatchObject({ begin: to - minutes * MINUTE, end: to });
    for (const { name, value } of query.metrics) {
      const found = results.map((row) => row[value]).filter((column) => column !== null);
      expect([name, found.length > 0 && found.every(isFigure)]).toEqual([name, true]);
    }
  });
});

describe('the pack alert_events', () => {
  it('counts every open alert event, also of conditions without an entity', async () => {
    const [pack] = (parse(readFileSync('packs/alert_events.yaml', 'utf8')) as Pack).queries;
    const time = `SINCE ${TO - MINUTES['30d']! * MINUTE} UNTIL ${TO} LIMIT MAX`;
    const { results } = await nrql(simulator, `${pack!.nrql}\n${time}`);
    const inner = 'SELECT latest(event) AS event FROM NrAiIncident FACET incidentId LIMIT MAX';
    const all = await nrql(simulator, `SELECT filter(count(*), WHERE event = 'open') AS open FROM (${inner}) ${time}`);
    const open = results.map((row) => Number(row['open']));
    expect(open.reduce((sum, each) => sum + each, 0)).toBe(all.results[0]!['open']);
    const withoutEntity = results.filter(({ facet }) => (facet as readonly string[])[3] === 'none');
    expect(withoutEntity.some((row) => row['open'] === 1)).toBe(true);
    const muted = results.flatMap(({ facet, open: count }) => (Number(count) > 0 ? (facet as string[])[4] : []));
    expect(new Set(muted)).toEqual(new Set(['true', 'false']));
  });
});

describe('the pack transactions', () => {
  it('has the transactions that take most time, not the most frequent transactions', async () => {
    const { queries } = parse(readFileSync('packs/transactions.yaml', 'utf8')) as Pack;
    const { nrql: text, limit } = queries.find(({ name }) => name === 'slowest')!;
    const time = `SINCE ${TO - 5 * MINUTE} UNTIL ${TO}`;
    const { results } = await nrql(simulator, `${text}\n${time} LIMIT ${limit}`);
    const { results: all } = await nrql(simulator, `${text}\n${time} LIMIT MAX`);
    const firstBy = (column: string) =>
      all
        .toSorted((a, b) => Number(b[column]) - Number(a[column]))
        .slice(0, limit)
        .map(({ facet }) => String(facet));
    expect(new Set(results.map(({ facet }) => String(facet)))).toEqual(new Set(firstBy('time')));
    expect(new Set(firstBy('calls'))).not.toEqual(new Set(firstBy('time')));
  });
});

describe('the pack limits', () => {
  it('has an incident in every twenty minutes of a day, so that its window of half an hour is never empty', async () => {
    const day = Math.floor(TO / (DAY * MINUTE)) * DAY * MINUTE;
    const text = 'SELECT count(*) AS incidents FROM NrIntegrationError WHERE limitName IS NOT NULL';
    const { results } = await nrql(simulator, `${text} SINCE ${day - DAY * MINUTE} UNTIL ${day} TIMESERIES 20 minutes`);
    expect(results).toHaveLength(72);
    expect(results.filter(({ incidents }) => Number(incidents) === 0)).toEqual([]);
  });
});

describe('the pack usage', () => {
  it('has the compute usage of every kind of contract', async () => {
    const { queries } = parse(readFileSync('packs/usage.yaml', 'utf8')) as Pack;
    const { nrql: text } = queries.find(({ name }) => name === 'compute')!;
    const { results } = await nrql(simulator, `${text}\nSINCE ${TO - DAY * MINUTE} UNTIL ${TO} LIMIT MAX`);
    expect(results.map(({ facet }) => facet).toSorted()).toEqual(['AdvancedCCU', 'CCU', 'CoreCCU']);
  });

  it('has the last complete day of New Relic, which ends four hours ago', async () => {
    const { delay } = (parse(readFileSync('packs/usage.yaml', 'utf8')) as Pack).queries[0]!;
    const hours = async (end: number) => {
      const time = `SINCE ${end - DAY * MINUTE} UNTIL ${end} LIMIT MAX`;
      const text = `SELECT count(*) AS hours FROM NrConsumption WHERE metric = 'CoreCCU' ${time}`;
      return (await nrql(simulator, text)).results[0]!['hours'];
    };
    expect(await hours(TO + 2 * MINUTE - MINUTES[delay ?? '']! * MINUTE)).toBe(24);
    expect(await hours(TO)).toBe(20);
  });
});

/** A number, or an object of numbers as `percentile` gives it. */
function isFigure(column: unknown): boolean {
  const figures = typeof column === 'object' && column !== null ? Object.values(column) : [column];
  return figures.length > 0 && figures.every((figure) => Number.isFinite(figure));
}

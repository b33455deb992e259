import { describe, expect, it, test } from 'vitest';
import { FACTS } from '../../../src/tools/facts/facts.ts';
import { factsText } from '../../../src/tools/facts/runFacts.ts';
import { checkSimulator, idsOf } from './support.ts';

/** The schema rules out another answer about golden metrics. */
const ROWS = FACTS.map(({ id }) => id).filter((id) => id !== 'nerdgraph_golden_metrics');

describe.each(['rest', 'nerdgraph'] as const)('an account over %s that is as assumed', (api) => {
  test('has no row that differs, and a reason for each that it cannot decide', async () => {
    const found = await checkSimulator(api, ['many_rows'], { wait: 10 });
    expect(found.rows.map(({ id }) => id)).toEqual(FACTS.map(({ id }) => id));
    expect(idsOf(found, 'differs')).toEqual([]);
    expect(idsOf(found, 'not decidable here')).toEqual(['nerdgraph_entity_page']);
    expect(found.calls).toBeLessThanOrEqual(80);
    expect(found.requests - found.calls).toBeLessThanOrEqual(3);
  });
});

it('decides the pages of entities where there are enough', async () => {
  const found = await checkSimulator('nerdgraph', ['many_entities']);
  expect(idsOf(found, 'differs')).toEqual([]);
  expect(idsOf(found, 'as assumed')).toContain('nerdgraph_entity_page');
});

it('searches no more pages of applications in an account of many', async () => {
  const [few, many] = [await checkSimulator('rest'), await checkSimulator('rest', [], { applications: 210 })];
  expect(many.searches).toBe(few.searches);
});

it('asks no more than an hour of the account, a day of one application, and once of an account that cannot exist', async () => {
  const { queries } = await checkSimulator('nerdgraph');
  const rare = /FROM (?:NrAiIncident|ChangeTrackingEvent, Deployment)/;
  const lengths = queries.map((query) => {
    const [, since, until] = /SINCE (\d+) UNTIL (\d+)/.exec(query) ?? [];
    const isOfOne = /appId = '?\d+/.test(query);
    return { query, hours: (Number(until) - Number(since)) / 3_600_000, isOfOne };
  });
  const timed = lengths.filter(({ query, hours }) => !rare.test(query) && !Number.isNaN(hours));
  expect(timed.length).toBeGreaterThan(25);
  expect(timed.filter(({ hours, isOfOne }) => hours > (isOfOne ? 24 : 1))).toEqual([]);
  expect(queries.filter((query) => / appId = 1 AND /.test(query))).toHaveLength(1);
  const [, usage] = /NrMTDConsumption SINCE \d+ UNTIL (\d+)/.exec(queries.join('\n')) ?? [];
  const hoursAgo = (Date.UTC(2026, 10, 20, 14, 7, 30) - Number(usage)) / 3_600_000;
  expect(Math.floor(hoursAgo)).toBe(4);
});

it('decides the windows of summaries though minutes pass while the lists are read', async () => {
  const found = await checkSimulator('nerdgraph', [], { passing: 5_000 });
  const windows = ['rest_summary_window', 'rest_key_transaction_window'];
  expect(idsOf(found, 'as assumed').filter((id) => windows.includes(id))).toEqual(windows);
});

const followersOf = (id: string): readonly string[] => FACTS.find((fact) => fact.id === id)?.follows ?? [];
const isRelated = (one: string, other: string): boolean =>
  followersOf(one).includes(other) || followersOf(other).includes(one);

/** Rows that would hide others that are planted with them. */
const APART = [
  ['nerdgraph_app_id'],
  ['nerdgraph_syntax_error'],
  ['nerdgraph_other_result', 'nerdgraph_entity_page'],
  ['nerdgraph_limit_max', 'nerdgraph_facets'],
  ['rest_end_user_unit', 'rest_next_keeps_filters', 'rest_memory_hosts'],
  ['late_minutes'],
];
const GROUPS = [...APART, ...grouped(ROWS.filter((id) => !APART.flat().includes(id)))].map((ids) => ({ ids }));

/** Groups of rows, none of which follows from another one of its group. */
function grouped(ids: readonly string[]): readonly string[][] {
  const groups: string[][] = [];
  for (const id of ids) {
    const group = groups.find((each) => each.every((other) => !isRelated(id, other)));
    if (group === undefined) groups.push([id]);
    else group.push(id);
  }
  return groups;
}

describe('planted differences', () => {
  it.each(GROUPS)(
    '$ids.length planted together, $ids.0 first, are named, and no other rows than those that follow from them',
    async ({ ids }) => {
      const found = await checkSimulator('rest', ids, { wait: ids.includes('late_minutes') ? 10 : 0 });
      const different: readonly string[] = idsOf(found, 'differs');
      const allowed = [...ids, ...ids.flatMap(followersOf)];
      expect(ids.filter((id) => !different.includes(id))).toEqual([]);
      expect(different.filter((each) => !allowed.includes(each))).toEqual([]);
      expect(found.calls).toBeLessThanOrEqual(80);
      const lines = factsText([found], 10_000).split('\n');
      expect(lines[0]).toMatch(/^Account default: \d+ as assumed, \d+ differ, \d+ not decidable here$/);
      const kinds = lines.slice(1, -3).map((line) => line.split(':', 1)[0]);
      expect(kinds).toEqual(kinds.toSorted((a, b) => (a === b ? 0 : a === 'differs' ? -1 : 1)));
      expect(lines.at(-2)).toMatch(/^All facts, .*\/docs\/facts\.md$/);
      const text = lines.join(' ');
      for (const { wrong } of FACTS.filter(({ id }) => ids.includes(id)))
        for (const each of wrong) expect(text).toContain(each);
    },
  );
});

it('reads a late minute once more at the end of a wait below ten minutes, and takes that for the final count', async () => {
  const { rows } = await checkSimulator('rest', ['late_minutes'], { wait: 9 });
  const { seen = [] } = rows.find(({ id }) => id === 'late_minutes')?.judged ?? {};
  expect(seen[2]).toMatchObject({ of: 'of the final count after 5 minutes' });
  expect(seen[2]).not.toHaveProperty('ratio', 1);
});

describe('what fails', () => {
  it('is the trouble of its own row, and of the rows that need it, which name it', async () => {
    const found = await checkSimulator('rest', ['nerdgraph_app_id']);
    const needing = found.rows.find(({ id }) => id === 'nerdgraph_like')?.judged;
    expect(needing).toMatchObject({
      verdict: 'not decidable here',
      needs: 'nerdgraph_app_id',
      why: 'another fact differs',
    });
  });

  it('is no difference where New Relic times out on a query that it should refuse', async () => {
    const paths = ['* FACET', '*, 1) AND*FACET appId SINCE*'];
    const faults = paths.map((path) => ({ effect: 'graphql-error', class: 'TIMEOUT', path }) as const);
    const found = await checkSimulator('rest', [], { faults });
    expect(idsOf(found, 'differs')).toEqual([]);
    const failed = found.rows.filter(({ judged }) => 'why' in judged && judged.why === 'the call failed');
    // The probe of timeouts gives its call six seconds, which a loaded machine may need.
    const ids = failed.map(({ id }) => id).filter((id) => id !== 'nerdgraph_timeout');
    expect(ids).toEqual(['nerdgraph_unmatched', 'nerdgraph_syntax_error']);
  });

  it('is every row where the account cannot be read', async () => {
    const found = await checkSimulator('rest', [], { faults: [{ effect: 'status', status: 403 }] });
    expect(found.problem).toContain('403');
    expect(idsOf(found, 'not decidable here')).toHaveLength(FACTS.length);
  });

  it('is the second interface, which leaves the rows of the other one', async () => {
    const faults = [{ effect: 'status', status: 403, on: 'graphql_applications' }] as const;
    const found = await checkSimulator('rest', [], { faults });
    expect(idsOf(found, 'differs')).toEqual([]);
    expect(idsOf(found, 'as assumed').filter((id) => !id.startsWith('rest_'))).toEqual([]);
    expect(idsOf(found, 'as assumed').length).toBeGreaterThan(12);
    expect(found.problem).toBeUndefined();
  });
});

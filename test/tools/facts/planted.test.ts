import { afterAll, describe, expect, it, test } from 'vitest';
import { FACTS } from '../../../src/tools/facts/facts.ts';
import { PACK_FACTS } from '../../../src/tools/facts/packFacts.ts';
import { renderFactsText } from '../../../src/tools/facts/runFacts.ts';
import {
  edit,
  say,
  startProxy,
  where,
  type Answers,
  type Fault,
  type NrqlResponse,
} from '../../api/nerdgraph/proxy.ts';
import { checkSimulator, closeSimulators, idsOf } from './support.ts';

afterAll(closeSimulators);

/** Three hosts make more rows than LIMIT MAX gives. */
const MANY_ROWS = { applications: 16, hostsPerApplication: 3 };
const MANY_ENTITIES = { applications: 60 };

describe.each(['rest', 'nerdgraph'] as const)('an account over %s that matches the assumptions', (api) => {
  test('has no differing row, and a reason for each undecidable row', async () => {
    const found = await checkSimulator(api, { size: MANY_ROWS, wait: 10 });
    expect(found.rows.map(({ id }) => id)).toEqual(FACTS.map(({ id }) => id));
    expect(idsOf(found, 'differs')).toEqual([]);
    expect(idsOf(found, 'not decidable here')).toEqual(['nerdgraph_entity_page']);
    expect(found.requests).toBeLessThanOrEqual(80);
  });
});

it('the page size of entities is decided where there are enough entities', async () => {
  const found = await checkSimulator('nerdgraph', { size: MANY_ENTITIES });
  expect(idsOf(found, 'differs')).toEqual([]);
  expect(idsOf(found, 'as assumed')).toContain('nerdgraph_entity_page');
});

it('the facts query at most an hour of the account, a day of one application, and one account that cannot exist', async () => {
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

/** Changes the rows of the queries that match. */
const rows = (query: RegExp, change: (answer: NrqlResponse) => void): Fault => edit(change, (nrql) => query.test(nrql));
const eachRow = (query: RegExp, change: (row: Record<string, unknown>) => void): Fault =>
  rows(query, ({ results }) => {
    for (const row of results) change(row);
  });
const refused = (query: RegExp, message = 'NRQL Syntax Error: planted'): Fault =>
  where((nrql) => query.test(nrql), say(message, 'INVALID_INPUT'));
/** Answers what is asked in calls that match with this error. */
const failed =
  (call: RegExp, errorClass: string): Fault =>
  (response, asked, good) =>
    call.test(asked.text) && say('An error occurred', errorClass)(response, asked, good);
/** Replaces parts of the answers to calls that match. */
const replaced =
  (call: RegExp, part: RegExp, by: string): Fault =>
  (response, { text }, good) => {
    if (!call.test(text)) return false;
    response.end(good.replaceAll(part, by));
    return true;
  };
const moved = (seconds: number): Fault =>
  edit(
    ({ metadata: { timeWindow } }) => {
      timeWindow.begin -= 1000 * 4 * 3600;
    },
    (nrql) => {
      const [, since, until] = /^SELECT count.*MetricsReported\/count' SINCE (\d+) UNTIL (\d+)$/.exec(nrql) ?? [];
      return Number(until) - Number(since) === 1000 * seconds;
    },
  );
const zero = (column: string) => (row: Record<string, unknown>) => {
  row[column] = 0;
};

/** A minute of which more calls arrive with each reading. */
function late(): Fault {
  let reading = 0;
  const isMinute = (nrql: string): boolean => {
    const [, since, until] = /HttpDispatcher' SINCE (\d+) UNTIL (\d+)$/.exec(nrql) ?? [];
    return Number(until) - Number(since) === 60_000;
  };
  return edit(({ results }) => {
    reading += 1;
    for (const row of results) row['c'] = 100 * reading;
  }, isMinute);
}

/** What is changed in the answers, so that one row differs. */
const PLANTED: Readonly<Record<string, Fault>> = {
  nerdgraph_app_id: eachRow(/appId = \d+ AND metricTimesliceName IN \('Agent/, zero('c')),
  nerdgraph_limit_max: rows(/^SELECT count.*FACET appId, host, metricTimesliceName/, (answer) => {
    answer.results.splice(100);
    answer.otherResult = { c: 5 };
  }),
  nerdgraph_facets: eachRow(/^SELECT count.*FACET appId, host, metricTimesliceName/, (row) => {
    const [id, ...others] = row['facet'] as string[];
    row['facet'] = [Number(id), ...others];
  }),
  nerdgraph_other_result: rows(/^SELECT count.*LIMIT 5$/, (answer) => {
    answer.otherResult = null;
  }),
  nerdgraph_first_sum: eachRow(/sum\(duration\).*LIMIT MAX$/, (row) => {
    row['n'] = row['s'];
  }),
  nerdgraph_order_by: eachRow(/^SELECT sum\(newrelic.timeslice.value\) AS s .*LIMIT MAX$/, (row) => {
    row['s'] = -Number(row['s']);
  }),
  nerdgraph_metric_count: eachRow(/datapointCount\(\)/, (row) => {
    row['c'] = row['n'];
  }),
  nerdgraph_half_hour: moved(1800),
  nerdgraph_hour: moved(3600),
  nerdgraph_day: moved(86_400),
  nerdgraph_timeout: (response, asked, good) =>
    asked.text.includes('"timeout":30') && say('The timeout is out of range', 'INVALID_INPUT')(response, asked, good),
  nerdgraph_hosts: rows(/host IS NOT NULL/, ({ results }) => void results.splice(1)),
  nerdgraph_sign_of_life: rows(/AND metricTimesliceName IN \('Agent.* FACET appId, metricTimesliceName/, (answer) => {
    answer.results = answer.results.filter(({ facet }) => !String(facet).includes('Agent/'));
  }),
  nerdgraph_like: eachRow(/ LIKE /, zero('c')),
  nerdgraph_in_list: refused(/IN \((\d+), '\1'\)/),
  nerdgraph_names: refused(/uniques\(/),
  nerdgraph_syntax_error: failed(/FACET"/, 'SERVER_ERROR'),
  nerdgraph_foreign_account: failed(/2147483647/, 'INTERNAL_SERVER_ERROR'),
  nerdgraph_percentile: eachRow(/percentile\(/, (row) => {
    row['p'] = 0.5;
  }),
  nerdgraph_entity_page: replaced(/"search":"accountId/, /"nextCursor":"[^"]*"/g, '"nextCursor":null'),
  nerdgraph_key_transaction_id: replaced(/KEY_TRANSACTION'/, /"keyTransactionId"/g, '"keyTransaction"'),
  nerdgraph_application_guid: replaced(/metricName/, /"guid":"[^"]*"\}/g, '"guid":"cGxhbnRlZC1ndWlk"}'),
  nerdgraph_user: replaced(/user \{ id \}/, /"id":\d+/g, '"id":null'),
  nerdgraph_golden_query: refused(/ AS m0/),
  late_minutes: late(),
  ...Object.fromEntries(
    Object.entries(PACK_FACTS).map(([id, { asked }]) => {
      const counts = asked.slice(0, asked.search(/ WHERE | \{time\}/));
      return [
        id,
        edit(
          ({ results: [row] }) => Object.assign(row ?? {}, { f0: 0 }),
          (nrql) => nrql.startsWith(`${counts} `),
        ),
      ];
    }),
  ),
};

const CASES: readonly (readonly [id: string, fault: Fault])[] = [
  ...Object.entries(PLANTED),
  ['nerdgraph_golden_query', replaced(/goldenMetrics/, /"select":"[^"]*"/g, '"select":null')],
];

test('the tests plant a difference for every row', () => {
  expect(Object.keys(PLANTED)).toEqual(FACTS.map(({ id }) => id));
});

/** What the simulator of the usual size says while its clock stands still: working that out anew for each row takes most of the time. */
const ANSWERS: Answers = new Map();

it.each(CASES)('%s alone differs where New Relic answers it differently', async (id, fault) => {
  const size = id === 'nerdgraph_entity_page' ? MANY_ENTITIES : undefined;
  const wait = id === 'late_minutes' ? 9 : 0;
  const answers = size === undefined && wait === 0 ? ANSWERS : undefined;
  const found = await checkSimulator('nerdgraph', {
    ...(size && { size }),
    wait,
    through: (url) => startProxy({ url }, fault, answers),
  });
  expect(idsOf(found, 'differs')).toEqual([id]);
  const lines = renderFactsText([found], 10_000).split('\n');
  expect(lines[0]).toMatch(/^Account default: \d+ as assumed, 1 differ, \d+ not decidable here$/);
  expect(lines[1]).toContain(`differs: ${id}: the exporter relies on this`);
  for (const each of FACTS.find((fact) => fact.id === id)?.wrong ?? []) expect(lines[1]).toContain(each);
  expect(lines.slice(2, -3).map((line) => line.split(':', 1)[0])).not.toContain('differs');
  expect(lines.at(-2)).toMatch(/^All facts: .*\/docs\/facts\.md$/);
});

it('a late minute is read again at the end of a wait below ten minutes, which gives the final count', async () => {
  const { rows: all } = await checkSimulator('rest', { wait: 9, through: (url) => startProxy({ url }, late()) });
  const { seen = [] } = all.find(({ id }) => id === 'late_minutes')?.judged ?? {};
  expect(seen[2]).toEqual({ of: 'of the final count after 5 minutes', ratio: 0.75 });
});

describe('a failing call', () => {
  it('affects its own row and the rows that need it, which name it', async () => {
    const fault = PLANTED['nerdgraph_app_id'];
    const through = (url: string) => startProxy({ url }, fault ?? (() => false), ANSWERS);
    const found = await checkSimulator('rest', { through });
    const needing = found.rows.find(({ id }) => id === 'nerdgraph_like')?.judged;
    expect(needing).toMatchObject({
      verdict: 'not decidable here',
      needs: 'nerdgraph_app_id',
      why: 'another fact differs',
    });
  });

  it('is not a difference where New Relic times out on a query that it should refuse', async () => {
    const paths = ['* FACET', '* LIKE *'];
    const faults = paths.map((path) => ({ effect: 'graphql-error', class: 'TIMEOUT', path }) as const);
    const found = await checkSimulator('rest', { faults });
    expect(idsOf(found, 'differs')).toEqual([]);
    const failing = found.rows.filter(({ judged }) => 'why' in judged && judged.why === 'the call failed');
    // The fact of timeouts gives its call six seconds, which a loaded machine may need.
    const ids = failing.map(({ id }) => id).filter((id) => id !== 'nerdgraph_timeout');
    expect(ids).toEqual(['nerdgraph_like', 'nerdgraph_syntax_error']);
  });

  it('leaves every row undecidable where the account cannot be read', async () => {
    const found = await checkSimulator('rest', { faults: [{ effect: 'status', status: 403 }] });
    expect(found.problem).toContain('403');
    expect(idsOf(found, 'not decidable here')).toHaveLength(FACTS.length);
  });
});

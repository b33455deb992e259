import { describe, expect, it } from 'vitest';
import type { AlertCondition, AlertSettings } from '../../../src/api/alerts.ts';
import { costWords } from '../../../src/tools/alertRules/convert.ts';
import { conditionQuery } from '../../../src/tools/alertRules/mapCondition.ts';
import { ACCOUNT, CONDITION, converted, entriesOf, TERM } from './conditions.ts';

const withQuery = (nrql: string): Partial<AlertCondition> => ({ nrql });
const signal = (difference: Partial<AlertCondition['signal']>) => ({ signal: { ...CONDITION.signal, ...difference } });
const expiration = (difference: Partial<AlertCondition['expiration']>) => ({
  expiration: { ...CONDITION.expiration, ...difference },
});

describe('what is not mapped', () => {
  it.each<[string, Partial<AlertCondition>]>([
    ['its type is baseline', { type: 'BASELINE' }],
    ['its type is outlier', { type: 'OUTLIER' }],
    ['it is disabled', { enabled: false }],
    ['it reads the data of another account, 2', { dataAccountId: 2 }],
    ['apdex() gives no single number', withQuery('SELECT apdex(duration, t: 0.5) AS score FROM Transaction')],
    ['it selects several values', withQuery('SELECT count(*), max(duration) FROM Transaction')],
    ['remove SINCE', withQuery('SELECT count(*) FROM Transaction SINCE 3 minutes ago')],
    ['LIMIT stands outside', withQuery('SELECT count(*) FROM Transaction FACET host LIMIT 5')],
    ['is one facet too many', withQuery('SELECT count(*) FROM T FACET a, b, c, d, e, f')],
    ['it is empty', withQuery('')],
    ['a query begins with', withQuery('SHOW EVENT TYPES')],
    ['neither a threshold nor', { terms: [] }],
    ['the operator NEAR is not known', { terms: [{ ...TERM, operator: 'NEAR' }] }],
    ['SOMETIMES is not known', { terms: [{ ...TERM, thresholdOccurrences: 'SOMETIMES' }] }],
    ['the priority LOW is not known', { terms: [{ ...TERM, priority: 'LOW' }] }],
  ])('%s', (reason, difference) => {
    const { report, ...files } = converted([difference]);
    expect(report).toMatchObject([{ policy: 'Team', name: 'Queue', mapped: false, query: null, metric: null }]);
    expect(report[0]?.notes.join()).toContain(reason);
    expect(entriesOf({ ...files, report })).toEqual({ queries: [], rules: [], differences: [] });
  });

  it('is named where it is no condition', () => {
    const others: Partial<AlertSettings> = {
      compoundConditions: [
        { id: '8', name: 'Both', policyId: '1' },
        { id: '9', name: 'Of another policy', policyId: '3' },
      ],
      mutingRules: [{ id: '10', name: 'Night' }],
    };
    const { report } = converted([], others);
    expect(report.map(({ kind, name, policy }) => [kind, name, policy])).toEqual([
      ['compound condition', 'Both', 'Team'],
      ['muting rule', 'Night', ''],
    ]);
    expect(report.flatMap(({ notes }) => notes)).toHaveLength(2);
  });

  it('leaves conditions of other policies out', () => {
    expect(converted([{ policyId: '2' }]).report).toEqual([]);
  });
});

describe('what is mapped and said', () => {
  it.each<[string, Partial<AlertCondition>]>([
    ['its window of 1m30s is rounded up to 2m', signal({ aggregationWindow: 90, slideBy: 60 })],
    ['its windows tumble', signal({ aggregationWindow: 300 })],
    ['its windows slide by 30s', signal({ aggregationWindow: 300, slideBy: 30 })],
    ['waits 2m before it evaluates', signal({ evaluationDelay: 120 })],
    ['closes an event after 1d', { violationTimeLimit: 86_400 }],
    ['expected termination', expiration({ ignoreOnExpectedTermination: true })],
    ['its prediction is not mapped', { terms: [{ ...TERM, isPredicted: true }] }],
    ['not filled (STATIC)', { ...withQuery('SELECT max(x) FROM Y FACET z'), ...signal({ fillOption: 'STATIC' }) }],
  ])('%s', (note, difference) => {
    const { report } = converted([difference]);
    expect(report[0]?.mapped).toBe(true);
    expect(report[0]?.notes.join()).toContain(note);
    expect(report[0]?.notes).toHaveLength(1);
  });

  it.each<[string, Partial<AlertCondition>]>([
    ['a window of a minute', signal({ aggregationWindow: 60 })],
    ['windows that slide by a minute', signal({ aggregationWindow: 300, slideBy: 60 })],
    ['the account itself', { dataAccountId: 1 }],
  ])('nothing, of %s', (_, difference) => {
    expect(converted([difference]).report).toMatchObject([{ mapped: true, query: 'Team/Queue', notes: [] }]);
  });

  it('a disabled condition with --disabled', () => {
    const { report } = converted([{ enabled: false }], {}, ACCOUNT, true);
    expect(report[0]).toMatchObject({ mapped: true, notes: ['it is disabled in New Relic, but an alert here'] });
  });
});

describe('the query of a condition', () => {
  it.each([
    [
      'a count is absent where no row is',
      'SELECT count(*) FROM T WHERE a',
      'SELECT count(*) + 0 * count(*) / count(*) AS value FROM T WHERE a',
    ],
    [
      'so is one within a column',
      'FROM T SELECT 2 * uniqueCount(a) AS x WHERE b',
      'FROM T SELECT 2 * uniqueCount(a) + 0 * count(*) / count(*) AS value WHERE b',
    ],
    [
      'so is a sum, whose lost signal would otherwise be 0 for ever',
      'SELECT sum(a) FROM T',
      'SELECT sum(a) + 0 * count(*) / count(*) AS value FROM T',
    ],
    [
      'rows of metrics are counted by the metric',
      'SELECT rate(count(a.b), 1 minute) FROM Metric',
      'SELECT rate(count(a.b), 1 minute) + 0 * count(a.b) / count(a.b) AS value FROM Metric',
    ],
    [
      'also those of a sum',
      'SELECT sum( a.b ) FROM Metric',
      'SELECT sum( a.b ) + 0 * count(a.b) / count(a.b) AS value FROM Metric',
    ],
    [
      'all rows of Metric are counted where a function names no single metric',
      'SELECT sum(a.b * 2) FROM Metric',
      'SELECT sum(a.b * 2) + 0 * count(*) / count(*) AS value FROM Metric',
    ],
    ['a facet without rows has no row', 'SELECT count(*) FROM T FACET a', 'SELECT count(*) FROM T FACET a'],
    [
      'other functions have no value',
      "SELECT max(a) FROM T WHERE b = 'count(*)'",
      "SELECT max(a) FROM T WHERE b = 'count(*)'",
    ],
    [
      'an inner query is whole',
      'SELECT max(n) FROM (SELECT sum(a) AS n FROM T FACET b -- c\n)',
      'SELECT max(n) FROM (SELECT sum(a) AS n FROM T FACET b -- c\n LIMIT MAX)',
    ],
    [
      'inner queries are whole at any depth',
      'SELECT max(n) FROM (SELECT max(m) AS n FROM (SELECT max(a) AS m FROM T FACET b) FACET c LIMIT 5)',
      'SELECT max(n) FROM (SELECT max(m) AS n FROM (SELECT max(a) AS m FROM T FACET b LIMIT MAX) FACET c LIMIT 5)',
    ],
  ])('%s', (_, given, sent) => {
    expect(conditionQuery(given)).toEqual({ nrql: sent, value: sent.includes('AS value') ? 'value' : undefined });
  });

  it('has the window of the condition in whole minutes, and the same HELP in every account', () => {
    const one = entriesOf(converted([signal({ aggregationWindow: 90 })])).queries[0];
    const two = entriesOf(converted([{}], {}, { ...ACCOUNT, name: 'other' })).queries[0];
    expect([one?.window, two?.window]).toEqual(['2m', '1m']);
    expect(one?.metrics[0]?.help).toBe(two?.metrics[0]?.help);
    expect(one?.metrics[0]?.name).toBe('newrelic_condition_team_queue');
  });
});

describe('names', () => {
  const names = (given: readonly string[], policies?: readonly string[]) => {
    const all = (policies ?? ['Team']).map((name, index) => ({ id: String(index + 1), name }));
    const conditions = given.map((name, index) => ({
      id: String(index + 11),
      name,
      policyId: String(policies ? index + 1 : 1),
    }));
    const { queries, rules } = entriesOf(converted(conditions, { policies: all }));
    return queries.map(({ name, metrics }, index) => [name, metrics[0]?.name, rules[index]?.alert]);
  };

  it('have the id where another has the same', () => {
    expect(names(['A b', 'a-B', 'A b'])).toEqual([
      ['Team/A b (11)', 'newrelic_condition_team_a_b_11', 'A b (11)'],
      ['Team/a-B', 'newrelic_condition_team_a_b_12', 'a-B'],
      ['Team/A b (13)', 'newrelic_condition_team_a_b_13', 'A b (13)'],
    ]);
  });

  it('do not collide with one that looks as if it had the id', () => {
    const metrics = names(['A', 'A', 'A 11']).map(([, metric]) => metric);
    expect(new Set(metrics).size).toBe(3);
  });

  it('have the id where nothing is left of the text, or the end says another type', () => {
    expect(names(['', 'Errors total', '日本'])).toEqual([
      ['Team/', 'newrelic_condition_team_11', 'Condition 11'],
      ['Team/Errors total', 'newrelic_condition_team_errors_total_12', 'Errors total'],
      ['Team/日本', 'newrelic_condition_team_13', '日本'],
    ]);
  });

  it('of metrics are at most 200 characters long', () => {
    const [first = [], second = []] = names(['x'.repeat(10_000), `${'x'.repeat(10_000)}y`]);
    expect(first[1]).toHaveLength(200);
    expect(first[1]).not.toBe(second[1]);
  });

  it('repeat in the policy only', () => {
    expect(names(['A', 'A'], ['One', 'Two']).map(([, , alert]) => alert)).toEqual(['A', 'A']);
  });

  it('leave those of packs alone', () => {
    expect(names(['open'], ['alert_events'])[0]?.[0]).toBe('alert_events/open (11)');
  });
});

describe('the labels of facets', () => {
  const labelsOf = (facets: string, labels: Readonly<Record<string, string>> = {}) =>
    entriesOf(converted([withQuery(`SELECT max(a) FROM T FACET ${facets}`)], {}, { ...ACCOUNT, labels })).queries[0]
      ?.labels;

  it.each([
    ['appName, entity.guid', ['appName', 'entity_guid']],
    ['account, policy, condition', ['facet_account', 'facet_policy', 'facet_condition']],
    [
      'newrelic_condition_id, alertname, severity',
      ['facet_newrelic_condition_id', 'facet_alertname', 'facet_severity'],
    ],
    ['instance, job, le, pod', ['facet_instance', 'facet_job', 'facet_le', 'facet_pod']],
    ['cases(WHERE a AS b, WHERE c AS d), `日`, x AS team', ['facet_1', '_', 'facet_team']],
    ['a.b, a_b', ['a_b', 'facet_2']],
  ])('of %s are %j', (facets, labels) => {
    expect(labelsOf(facets, { team: 'x' })).toEqual(labels);
  });
});

describe('rules', () => {
  it('have the static labels of the account, and texts that are no templates', () => {
    const account = { ...ACCOUNT, labels: { team: '{{ x }}', policy: 'mine' } };
    const condition = { name: 'Is {{ $value }} {{{', description: 'See {{x}}', runbookUrl: 'https://x/{{y}}' };
    const [rule] = entriesOf(converted([condition], {}, account)).rules;
    expect(rule?.labels).toEqual({
      team: '{{"{{"}} x }}',
      account: 'shop',
      policy: 'Team',
      condition: 'Is {{"{{"}} $value }} {{"{{"}}{',
      newrelic_condition_id: '7',
      severity: 'critical',
    });
    expect(rule?.annotations).toEqual({
      summary: 'Is {{"{{"}} $value }} {{"{{"}}{ (Team)',
      description: 'See {{"{{"}}x}}\n\nThe signal is above 5 for 3m.',
      runbook_url: 'https://x/{{"{{"}}y}}',
    });
  });

  it('are in a group for each policy, also where two have one name', () => {
    const policies = ['1', '2', '3'].map((id) => ({ id, name: id === '3' ? 'Empty' : 'Team' }));
    const { rules } = converted([{}, { id: '8', policyId: '2' }], { policies });
    const { groups } = rules as { readonly groups: readonly { readonly name: string }[] };
    expect(groups.map(({ name }) => name)).toEqual(['Team (1)', 'Team (2)']);
  });

  it('of two thresholds of one priority have names of their own', () => {
    const { rules } = entriesOf(converted([{ terms: [TERM, { ...TERM, threshold: 9 }] }]));
    expect(rules.map(({ alert }) => alert)).toEqual(['Queue', 'Queue (2)']);
  });
});

describe('what the queries cost', () => {
  const cost = (queries: number) =>
    costWords(converted(Array.from({ length: queries }, (_, id) => ({ id: String(id) }))).cost).join(' ');

  it('is a call and a window a minute for each', () => {
    const { cost: found } = converted([
      {},
      { id: '8', ...signal({ aggregationWindow: 300 }) },
      { id: '9', enabled: false },
    ]);
    expect(found).toMatchObject({ queries_per_minute: 2, requests_per_minute: 600, scanned_minutes_per_minute: 6 });
  });

  it('is warned of above half of the budget', () => {
    expect(cost(300)).toBe(
      'The queries cost 300 calls a minute, 50.0% of requests_per_minute (600), and scan 300 minutes of data a minute.',
    );
    expect(cost(301)).toContain(
      'Warning: that is more than half of the budget. Convert the policies that matter with --policy.',
    );
  });
});

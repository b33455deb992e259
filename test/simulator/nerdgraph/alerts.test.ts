import { describe, expect, it } from 'vitest';
import { MINUTE, NOW, simulatorOfFile, simulatorOfTest } from '../client.ts';
import { ACCOUNT, body, nrql, type Row, TO } from './client.ts';

const simulator = await simulatorOfFile({ applications: 260 });

interface Found {
  readonly nextCursor: string | null;
  readonly totalCount: number;
  readonly [list: string]: unknown;
}

/** One page of a search. */
async function page(field: string, list: string, argumentsOf: string, from = simulator): Promise<Found> {
  const text = `{ actor { account(id: ${ACCOUNT}) { alerts { ${field}(${argumentsOf}) { nextCursor totalCount ${list} } } } } }`;
  const { data, errors } = await body(from, text);
  if (errors !== undefined) throw new Error(errors[0]?.message);
  return (data!.actor!['account'] as { readonly alerts: Readonly<Record<string, Found>> }).alerts[field]!;
}

/** All pages of a search. */
async function all(field: string, member: string, fields: string, from = simulator): Promise<readonly Row[]> {
  const found: Row[] = [];
  for (let cursor: string | null = 'null'; cursor !== null;) {
    const one: Found = await page(field, `${member} { ${fields} }`, `cursor: ${cursor}`, from);
    found.push(...(one[member] as readonly Row[]));
    cursor = one.nextCursor === null ? null : JSON.stringify(one.nextCursor);
    if (cursor === null) expect(found).toHaveLength(one.totalCount);
  }
  return found;
}

const CONDITION =
  '__typename id policyId name type enabled nrql { query dataAccountId } signal { aggregationWindow fillOption } ' +
  'terms { __typename operator threshold thresholdDuration thresholdOccurrences } expiration { openViolationOnExpiration }';

describe('the alerting of the account', () => {
  it('has policies and conditions over several pages, each once', async () => {
    const policies = await all('policiesSearch', 'policies', 'id name accountId');
    const conditions = await all('nrqlConditionsSearch', 'nrqlConditions', CONDITION);
    expect(policies.length).toBeGreaterThan(200);
    expect(conditions.length).toBeGreaterThan(200);
    expect(new Set(conditions.map(({ id }) => id)).size).toBe(conditions.length);
    expect(conditions.filter(({ policyId }) => !policies.some(({ id }) => id === policyId))).toEqual([]);
  });

  it('gives older conditions only in the form of NRQL conditions', async () => {
    const own = await all('nrqlConditionsSearch', 'nrqlConditions', 'id');
    const asNrql = await all('asNrqlConditionsSearch', 'nrqlConditions', 'id sourceProduct');
    const ids = new Set(own.map(({ id }) => id));
    const others = asNrql.filter(({ id }) => !ids.has(id));
    expect(new Set(others.map(({ sourceProduct }) => sourceProduct))).toEqual(new Set(['APM', 'SYNTHETICS']));
    expect(asNrql).toHaveLength(own.length + others.length);
  });

  it('has every kind of condition, and says what each is', async () => {
    const conditions = await all('nrqlConditionsSearch', 'nrqlConditions', CONDITION);
    const kinds = new Set(conditions.map((each) => `${String(each['__typename'])} ${String(each['type'])}`));
    expect(kinds).toEqual(
      new Set([
        'AlertsNrqlStaticCondition STATIC',
        'AlertsNrqlBaselineCondition BASELINE',
        'AlertsNrqlOutlierCondition OUTLIER',
      ]),
    );
    const terms = conditions.flatMap((each) => each['terms'] as readonly Row[]);
    expect(new Set(terms.map(({ operator }) => operator)).size).toBe(6);
    expect(new Set(terms.map(({ thresholdOccurrences }) => thresholdOccurrences)).size).toBe(2);
    expect(terms.map((term) => term['__typename'])).toContain('AlertsNrqlConditionTermsWithPrediction');
    const fills = conditions.map((each) => (each['signal'] as Row)['fillOption']);
    expect(new Set(fills)).toEqual(new Set(['NONE', 'STATIC', 'LAST_VALUE']));
  });

  it('finds what the criteria say, and refuses a cursor that it did not give', async () => {
    const named = await page(
      'nrqlConditionsSearch',
      'nrqlConditions { name }',
      'searchCriteria: { nameLike: "DEPTH" }',
    );
    expect(named['nrqlConditions']).toEqual([{ name: 'Queue depth' }, { name: 'Queue has a negative depth' }]);
    const ofPolicy = await page(
      'nrqlConditionsSearch',
      'nrqlConditions { id }',
      'searchCriteria: { policyId: "200001" }',
    );
    expect(ofPolicy.totalCount).toBeLessThan(20);
    const policy = await page('policiesSearch', 'policies { id }', 'searchCriteria: { ids: ["200001"] }');
    expect(policy.totalCount).toBe(1);
    await expect(page('policiesSearch', 'policies { id }', 'cursor: "nonsense"')).rejects.toThrow('Invalid cursor');
  });

  it('has compound conditions and muting rules', async () => {
    expect(await all('compoundConditions', 'items', 'name')).toEqual([{ name: 'Slow while requests stop' }]);
    const text = (filter: string) =>
      `{ actor { account(id: ${ACCOUNT}) { alerts { mutingRules${filter} { name enabled } } } } }`;
    const names = async (filter: string) => {
      const { data } = await body(simulator, text(filter));
      const found = data!.actor!['account'] as { readonly alerts: { readonly mutingRules: readonly Row[] } };
      return found.alerts.mutingRules.map(({ name }) => name);
    };
    expect(await names('')).toEqual(['Nightly maintenance', 'Move to the new data center']);
    expect(await names('(filter: { enabled: false })')).toEqual(['Move to the new data center']);
  });
});

/** The open events at a moment, as policy/condition/priority/entity. */
async function open(at: number, from = simulator): Promise<readonly string[]> {
  const { results } = await nrql(
    from,
    `SELECT latest(event) AS event, latest(policyName) AS policy, latest(conditionName) AS condition,
       latest(priority) AS priority, latest(entity.name) AS entity
     FROM NrAiIncident FACET incidentId SINCE ${at - 9 * 1440 * MINUTE} UNTIL ${at} LIMIT MAX`,
  );
  return results
    .filter(({ event }) => event === 'open')
    .map((row) => ['policy', 'condition', 'priority', 'entity'].map((key) => String(row[key])).join('/'));
}

describe('the events of conditions with a threshold', () => {
  it('are open after three minutes above it, and closed after three below', async () => {
    const few = await simulatorOfTest({ applications: 16 });
    const [slow] = (await all('nrqlConditionsSearch', 'nrqlConditions', CONDITION, few)).filter(
      ({ policyId }) => policyId === '300001',
    );
    const { query } = slow!['nrql'] as { readonly query: string };
    const { threshold } = (slow!['terms'] as readonly { readonly threshold: number }[])[0]!;
    const minutes = 360;
    const begin = TO - 3 * minutes * MINUTE;
    const values: number[] = [];
    for (let part = 0; part < 3; part += 1) {
      const since = begin + part * minutes * MINUTE;
      const time = `SINCE ${since} UNTIL ${since + minutes * MINUTE} TIMESERIES 1 minute`;
      const { results } = await nrql(few, `${query} ${time}`);
      values.push(...results.map((row) => row['average.newrelic.timeslice.value'] as number));
    }
    const { results } = await nrql(
      few,
      `SELECT latest(openTime) AS opened, latest(closeTime) AS closed FROM NrAiIncident
       WHERE conditionName = 'Slow or failing requests' AND entity.name = 'Storefront'
       FACET incidentId SINCE ${begin} UNTIL ${TO} LIMIT MAX`,
    );
    const seen = { open: 0, closed: 0 };
    for (let end = 3; end <= values.length; end += 1) {
      const last = values.slice(end - 3, end).map((value) => value > threshold);
      // Between the two, what it was before decides.
      if (new Set(last).size > 1) continue;
      const at = begin + end * MINUTE + 50_000;
      const isOpen = results.some(({ opened, closed }) => at >= Number(opened) && at < Number(closed ?? Infinity));
      expect([end, isOpen]).toEqual([end, last[0]]);
      seen[isOpen ? 'open' : 'closed'] += 1;
    }
    expect(Math.min(seen.open, seen.closed)).toBeGreaterThan(3);
  });

  it('open for the watched application when it falls silent', async () => {
    let now = NOW;
    const few = await simulatorOfTest({ applications: 16, now: () => now });
    const ofSilence = async () => (await open(now, few)).filter((event) => event.startsWith('Every kind'));
    few.change(1_000_001, { reporting: false });
    now += 4 * MINUTE;
    expect(await ofSilence()).toEqual([]);
    now += 2 * MINUTE;
    expect((await ofSilence()).toSorted()).toEqual([
      'Every kind of condition/Requests stop/critical/Storefront',
      'Every kind of condition/Signal lost/critical/Storefront',
    ]);
  });
});

import type { FaultRule } from '../faults/faultRules.ts';
import { alertConditions, alertPolicies, KINDS_POLICY, type SimulatedCondition } from '../world/alertConditions.ts';
import type { World } from '../world/world.ts';
import { pageOf } from './pages.ts';

/** The criteria of searches for policies and conditions. */
interface SearchCriteria {
  readonly ids?: readonly string[] | null;
  readonly name?: string | null;
  readonly nameLike?: string | null;
  readonly policyId?: string | null;
}

/** The arguments of a search. */
export interface AlertSearch {
  readonly cursor?: string | null;
  readonly searchCriteria?: SearchCriteria | null;
  readonly filter?: { readonly enabled?: boolean | null } | null;
}

/** The kinds of searches in the alerting of an account. */
export const ALERT_SEARCHES = [
  'policiesSearch',
  'nrqlConditionsSearch',
  'asNrqlConditionsSearch',
  'compoundConditions',
  'mutingRules',
] as const;

const CLASS_NAMES = { STATIC: 'Static', BASELINE: 'Baseline', OUTLIER: 'Outlier' } as const;

interface Named {
  readonly id: number;
  readonly name: string;
  readonly policyId?: number;
}

function meets({ ids, name, nameLike, policyId }: SearchCriteria, one: Named): boolean {
  return (
    (ids ?? [String(one.id)]).includes(String(one.id)) &&
    (name ?? one.name) === one.name &&
    one.name.toLowerCase().includes((nameLike ?? '').toLowerCase()) &&
    (policyId ?? String(one.policyId)) === String(one.policyId)
  );
}

function conditionBody(
  prefix: 'AlertsNrql' | 'AlertsAsNrql',
  { query, dataAccountId, ...condition }: SimulatedCondition,
) {
  return {
    ...condition,
    __typename: `${prefix}${CLASS_NAMES[condition.type]}Condition`,
    nrql: { query, dataAccountId },
    terms: condition.terms.map(({ isPredicted, ...term }) => ({
      ...term,
      __typename: `AlertsNrqlConditionTerms${isPredicted === true ? 'WithPrediction' : ''}`,
    })),
  };
}

/** One page of a search, and the number of its entries. */
export function searchAlerts(
  name: (typeof ALERT_SEARCHES)[number],
  given: AlertSearch,
  world: World,
  fault: FaultRule | undefined,
): { readonly value: object; readonly rows: number } {
  const { accountId } = world.options;
  const search = <One extends Named>(member: string, all: readonly One[], body: (one: One) => object) => {
    const found = all.filter((one) => meets(given.searchCriteria ?? {}, one));
    const { page, nextCursor } = pageOf(found, given.cursor, undefined, fault);
    return { value: { [member]: page.map(body), nextCursor, totalCount: found.length }, rows: page.length };
  };
  switch (name) {
    case 'policiesSearch': {
      const common = { accountId, incidentPreference: 'PER_CONDITION_AND_TARGET' };
      return search('policies', alertPolicies(world), (policy) => ({ ...policy, ...common }));
    }
    case 'nrqlConditionsSearch': {
      const own = alertConditions(world).filter(({ sourceProduct }) => sourceProduct === 'NRQL');
      return search('nrqlConditions', own, (condition) => conditionBody('AlertsNrql', condition));
    }
    case 'asNrqlConditionsSearch':
      return search('nrqlConditions', alertConditions(world), (condition) => conditionBody('AlertsAsNrql', condition));
    case 'compoundConditions':
      return search('items', COMPOUND, (condition) => condition);
    case 'mutingRules': {
      const wanted = given.filter?.enabled;
      const found = MUTING.filter(({ enabled }) => (wanted ?? enabled) === enabled);
      return { value: found.map((rule) => ({ ...rule, accountId })), rows: found.length };
    }
  }
}

const COMPOUND = [
  {
    id: 410_001,
    name: 'Slow while requests stop',
    policyId: KINDS_POLICY.id,
    enabled: true,
    thresholdDuration: 300,
    triggerExpression: 'A AND B',
  },
];

const MUTING = [
  { id: 420_001, name: 'Nightly maintenance', enabled: true, description: 'Every night at 3' },
  { id: 420_002, name: 'Move to the new data center', enabled: false, description: null },
];

import type { AlertSettings, NamedAlerting } from '../../api/alerts.ts';
import { counted } from '../../config/wording.ts';
import { differenceRules } from './differences.ts';
import {
  type ConvertedCondition,
  convertCondition,
  type PolicyCondition,
  type RuleAccount,
  whyNotMapped,
} from './mapCondition.ts';
import { isNoMetric, metricOf, metricWithId, uniqueNames } from './names.ts';

/** The outcome for one part of the account's alerting. */
export interface ReportRow {
  readonly id: string;
  readonly kind: 'condition' | 'compound condition' | 'muting rule';
  readonly policy: string;
  readonly name: string;
  /** Its query and metric; undefined when it is not mapped. */
  readonly mapped: { readonly query: string; readonly metric: string } | undefined;
  /** The reasons why it is not mapped, or the differences between its rules and the condition. */
  readonly notes: readonly string[];
}

/** The cost of the mapped conditions' queries. */
export interface QueryCost {
  readonly queriesPerMinute: number;
  readonly requestsPerMinute: number;
  /** Minutes of data that New Relic scans per minute. */
  readonly scannedMinutesPerMinute: number;
}

/** The contents of the files, and the report. */
export interface Conversion {
  readonly queries: object;
  readonly rules: object;
  readonly differences: object;
  readonly report: readonly ReportRow[];
  readonly cost: QueryCost;
}

const COMPOUND = 'Prometheus has no rule of other rules';
const MUTING = 'write a time interval of Alertmanager in its place';

/**
 * Converts the alerting of an account into queries and rules, and reports the outcome of each part.
 *
 * @param settings with the chosen policies; conditions of others are left out
 * @param options.takenQueries query names that are already in use
 */
export function convert(
  settings: AlertSettings,
  account: RuleAccount,
  options: {
    readonly withDisabled: boolean;
    readonly takenQueries: readonly string[];
    readonly requestsPerMinute: number;
  },
): Conversion {
  const policies = new Map(settings.policies.map((policy) => [policy.id, policy]));
  const judged = settings.conditions.flatMap((condition) => {
    const policy = policies.get(condition.policyId);
    const problem = whyNotMapped(condition, account, options.withDisabled);
    return policy === undefined ? [] : [{ id: condition.id, condition, policy, problem }];
  });
  const mapped = judged.filter(({ problem }) => problem === undefined);
  const converted = convertAll(mapped, settings.policies, account, options.takenQueries);
  const report = judged.map(({ id, condition, policy, problem }): ReportRow => {
    const into = converted.get(id);
    const names = into === undefined ? undefined : { query: into.query, metric: into.metric };
    const notes = problem === undefined ? (into?.notes ?? []) : [problem];
    return { id, kind: 'condition', policy: policy.name, name: condition.name, mapped: names, notes };
  });
  const groups = groupsOf(mapped, converted, settings.policies);
  const windows = [...converted.values()].map(({ window }) => window);
  return {
    queries: { queries: [...converted.values()].map(({ queryEntry }) => queryEntry) },
    rules: { groups },
    differences: { groups: differenceRules(mapped, account.name) },
    report: [...report, ...unmapped(settings, policies)],
    cost: {
      queriesPerMinute: windows.length,
      requestsPerMinute: options.requestsPerMinute,
      scannedMinutesPerMinute: windows.reduce((sum, window) => sum + window, 0),
    },
  };
}

function convertAll(
  mapped: readonly PolicyCondition[],
  policies: readonly NamedAlerting[],
  account: RuleAccount,
  takenQueries: readonly string[],
): ReadonlyMap<string, ConvertedCondition> {
  const path = ({ policy, condition }: PolicyCondition): string => `${policy.name}/${condition.name}`;
  const queries = uniqueNames(mapped, path, nameWithId, takenQueries);
  const plainMetric = ({ policy, condition }: PolicyCondition): string => metricOf(policy.name, condition.name);
  const metrics = uniqueNames(mapped, plainMetric, metricWithId, [], isNoMetric);
  const plain = ({ condition }: PolicyCondition): string => condition.name.trim();
  const withId = (name: string, id: string): string => (name === '' ? `Condition ${id}` : nameWithId(name, id));
  const alerts = new Map(policies.flatMap(({ id }) => [...uniqueNames(conditionsOf(id, mapped), plain, withId, [''])]));
  return new Map(
    mapped.map(({ id, condition, policy }) => {
      const names = { query: queries.get(id) ?? id, metric: metrics.get(id) ?? id, alert: alerts.get(id) ?? id };
      return [id, convertCondition(condition, policy, account, names)];
    }),
  );
}

const nameWithId = (name: string, id: string): string => `${name} (${id})`;

/** A group for each policy that has rules. */
function groupsOf(
  mapped: readonly PolicyCondition[],
  converted: ReadonlyMap<string, ConvertedCondition>,
  policies: readonly NamedAlerting[],
): readonly object[] {
  const names = uniqueNames(policies, ({ name }) => name, nameWithId, ['']);
  return policies.flatMap((policy) => {
    const rules = conditionsOf(policy.id, mapped).flatMap(({ id }) => converted.get(id)?.rules ?? []);
    return rules.length === 0 ? [] : [{ name: names.get(policy.id) ?? policy.name, rules }];
  });
}

function conditionsOf(policyId: string, mapped: readonly PolicyCondition[]): readonly PolicyCondition[] {
  return mapped.filter(({ policy }) => policy.id === policyId);
}

/** Report rows for the parts that are never mapped. */
function unmapped(settings: AlertSettings, policies: ReadonlyMap<string, NamedAlerting>): readonly ReportRow[] {
  const rowOf = (kind: ReportRow['kind'], { id, name }: NamedAlerting, policy: string, note: string): ReportRow => {
    return { id, kind, policy, name, mapped: undefined, notes: [note] };
  };
  const compound = settings.compoundConditions
    .filter(({ policyId }) => policyId === undefined || policies.has(policyId))
    .map((each) => rowOf('compound condition', each, policies.get(each.policyId ?? '')?.name ?? '', COMPOUND));
  return [...compound, ...settings.mutingRules.map((each) => rowOf('muting rule', each, '', MUTING))];
}

const WARNING = 'Warning: that is more than half of the budget. Convert the policies that matter with --policy.';

/** The cost of the queries in a sentence, followed by a warning when they take more than half of the budget. */
export function costWords({ queriesPerMinute, requestsPerMinute, scannedMinutesPerMinute }: QueryCost): string[] {
  const share = queriesPerMinute / requestsPerMinute;
  const cost =
    `The queries cost ${counted(queriesPerMinute, 'call')} a minute, ${(100 * share).toFixed(1)}% of requests_per_minute ` +
    `(${requestsPerMinute}), and scan ${counted(scannedMinutesPerMinute, 'minute')} of data a minute.`;
  return share > 0.5 ? [cost, WARNING] : [cost];
}

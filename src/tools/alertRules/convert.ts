import type { AlertSettings, NamedAlerting } from '../../api/alerts.ts';
import { counted } from '../../config/wording.ts';
import { escapeTemplates, matchers, succeeded } from './expressions.ts';
import {
  type ConvertedCondition,
  convertCondition,
  type PolicyCondition,
  type RuleAccount,
  whyNotMapped,
} from './mapCondition.ts';
import { isNoMetric, metricOf, metricWithId, uniqueNames } from './names.ts';

/** The outcome for one part of the account's alerting, in the form of the JSON report. */
export interface ReportRow {
  readonly id: string;
  readonly kind: 'condition' | 'compound condition' | 'muting rule';
  readonly policy: string;
  readonly name: string;
  readonly mapped: boolean;
  /** Null when it is not mapped. */
  readonly query: string | null;
  readonly metric: string | null;
  /** The reasons why it is not mapped, or the differences between its rules and the condition. */
  readonly notes: readonly string[];
}

/** The contents of the written files, and of the report. */
export interface Conversion {
  readonly queries: object;
  readonly rules: object;
  readonly differences: object;
  readonly report: readonly ReportRow[];
  readonly cost: ReturnType<typeof costOf>;
}

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
  const policies = new Map(settings.policies.map(({ id, name }) => [id, name]));
  const conditions = settings.conditions.flatMap((condition) => {
    const policy = policies.get(condition.policyId);
    return policy === undefined ? [] : [{ ...condition, policy }];
  });
  const problems = new Map(conditions.map((each) => [each.id, whyNotMapped(each, account, options.withDisabled)]));
  const mapped = conditions.filter(({ id }) => problems.get(id) === undefined);
  const converted = convertAll(mapped, account, options.takenQueries);
  const groups = uniqueNames(settings.policies, ({ name }) => name, nameWithId);
  const all = [...converted.values()];
  return {
    queries: { queries: all.map(({ queryEntry }) => queryEntry) },
    rules: {
      groups: [...groups].flatMap(([policyId, name]) => {
        const own = mapped.filter((each) => each.policyId === policyId);
        const rules = own.flatMap(({ id }) => converted.get(id)?.rules ?? []);
        return rules.length === 0 ? [] : [{ name, rules }];
      }),
    },
    differences: { groups: differenceRules(mapped, account.name) },
    report: [
      ...conditions.map((each) => rowOf('condition', each, each.policy, problems.get(each.id), converted.get(each.id))),
      ...settings.compoundConditions
        .filter(({ policyId }) => policyId === undefined || policies.has(policyId))
        .map((each) => rowOf('compound condition', each, policies.get(each.policyId ?? '') ?? '', COMPOUND)),
      ...settings.mutingRules.map((each) => rowOf('muting rule', each, '', MUTING)),
    ],
    cost: costOf(all, options.requestsPerMinute),
  };
}

const COMPOUND = 'Prometheus has no rule of other rules';
const MUTING = 'write a time interval of Alertmanager in its place';

function rowOf(
  kind: ReportRow['kind'],
  { id, name }: NamedAlerting,
  policy: string,
  problem: string | undefined,
  converted?: ConvertedCondition,
): ReportRow {
  const { query = null, metric = null, notes = [] } = converted ?? {};
  return {
    id,
    kind,
    policy,
    name,
    mapped: converted !== undefined,
    query,
    metric,
    notes: problem === undefined ? notes : [problem],
  };
}

/** The mapped conditions by id, converted: each has a query, a metric and an alert under names that no other one has. */
function convertAll(
  mapped: readonly PolicyCondition[],
  account: RuleAccount,
  takenQueries: readonly string[],
): ReadonlyMap<string, ConvertedCondition> {
  const queries = uniqueNames(
    mapped,
    ({ policy, name }) => `${policy}/${name}`,
    nameWithId,
    (name) => takenQueries.includes(name),
  );
  const metrics = uniqueNames(mapped, ({ policy, name }) => metricOf(policy, name), metricWithId, isNoMetric);
  const alertWithId = (name: string, id: string): string => (name === '' ? `Condition ${id}` : nameWithId(name, id));
  const alerts = new Map(
    [...new Set(mapped.map(({ policyId }) => policyId))].flatMap((policyId) => {
      const own = mapped.filter((each) => each.policyId === policyId);
      return [...uniqueNames(own, ({ name }) => name.trim(), alertWithId)];
    }),
  );
  return new Map(
    mapped.map((condition) => {
      const [query = '', metric = '', alert = ''] = [queries, metrics, alerts].map((names) => names.get(condition.id));
      return [condition.id, convertCondition(condition, account, { query, metric, alert })];
    }),
  );
}

function nameWithId(name: string, id: string): string {
  return `${name} (${id})`;
}

/**
 * Rules that fire while our alert fires but New Relic has no open event of the condition, or the reverse. Events name their
 * policy and condition, so conditions that share both names are compared as one.
 *
 * @returns one group for each policy name
 */
function differenceRules(mapped: readonly PolicyCondition[], account: string): readonly object[] {
  const byPolicy = new Map<string, Set<string>>();
  for (const { policy, name } of mapped) {
    byPolicy.set(policy, (byPolicy.get(policy) ?? new Set()).add(name));
  }
  return [...byPolicy].map(([policy, conditions]) => ({
    name: `Differences of ${policy}`,
    rules: [...conditions].flatMap((condition) => differencesOf({ account, policy, condition })),
  }));
}

function differencesOf(of: { readonly account: string; readonly policy: string; readonly condition: string }) {
  const here = `ALERTS{alertstate="firing",newrelic_condition_id!="",${matchers(of).slice(1)}`;
  const there = `newrelic_alert_events_open${matchers(of)} > 0`;
  const areEventsRead = `and on () (${succeeded(of.account, 'alert_events/open')})`;
  const rule = (alert: string, found: string, missing: string, text: string): object => ({
    alert,
    expr: `max by (account, policy, condition) (${found}) unless on () (${missing}) ${areEventsRead}`,
    for: '15m',
    labels: escapeTemplates({ ...of, severity: 'warning' }),
    annotations: escapeTemplates({ summary: `${of.condition} (${of.policy}): ${text}` }),
  });
  return [
    rule('NewRelicConditionOnlyInPrometheus', here, there, 'our rule fires, New Relic has no open event.'),
    rule('NewRelicConditionOnlyInNewRelic', there, here, 'New Relic has an open event, our rule does not fire.'),
  ];
}

/** The cost of the queries, each a call a minute, in the form of the JSON report. */
function costOf(converted: readonly ConvertedCondition[], requestsPerMinute: number) {
  const share = converted.length / requestsPerMinute;
  return {
    queries_per_minute: converted.length,
    requests_per_minute: requestsPerMinute,
    share,
    /** Minutes of data that New Relic scans per minute. */
    scanned_minutes_per_minute: converted.reduce((sum, { window }) => sum + window, 0),
    warning:
      share > 0.5
        ? 'Warning: that is more than half of the budget. Convert the policies that matter with --policy.'
        : undefined,
  };
}

/** The cost of the queries in a sentence, followed by a warning when they take more than half of the budget. */
export function costWords(cost: Conversion['cost']): string[] {
  const { queries_per_minute: queries, requests_per_minute: requests, scanned_minutes_per_minute: minutes } = cost;
  const sentence =
    `The queries cost ${counted(queries, 'call')} a minute, ${(100 * cost.share).toFixed(1)}% of requests_per_minute ` +
    `(${requests}), and scan ${counted(minutes, 'minute')} of data a minute.`;
  return cost.warning === undefined ? [sentence] : [sentence, cost.warning];
}

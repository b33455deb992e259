import { matchers, succeeded } from './expressions.ts';
import { escapeTemplates, type PolicyCondition } from './mapCondition.ts';

const PACK_QUERY = 'alert_events/open';
const LASTING = '15m';

/**
 * Rules that fire while our alert fires and New Relic has no open event of the condition, and the reverse. Events name their
 * policy and condition, so conditions that share both names are compared as one.
 *
 * @returns one group for each policy name
 */
export function differenceRules(mapped: readonly PolicyCondition[], account: string): readonly object[] {
  const byPolicy = new Map<string, Set<string>>();
  for (const { policy, condition } of mapped) {
    byPolicy.set(policy.name, (byPolicy.get(policy.name) ?? new Set()).add(condition.name));
  }
  return [...byPolicy].map(([policy, conditions]) => ({
    name: `Differences of ${policy}`,
    rules: [...conditions].flatMap((condition) => rulesOf({ account, policy, condition })),
  }));
}

function rulesOf(of: { readonly account: string; readonly policy: string; readonly condition: string }): object[] {
  const here = `ALERTS{alertstate="firing",newrelic_condition_id!="",${matchers(of).slice(1)}`;
  const there = `newrelic_alert_events_open${matchers(of)} > 0`;
  const known = `and on () (${succeeded(of.account, PACK_QUERY)})`;
  const only = (these: string, those: string): string =>
    `max by (account, policy, condition) (${these}) unless on () (${those}) ${known}`;
  const rule = (alert: string, expr: string, said: string): object => ({
    alert,
    expr,
    for: LASTING,
    labels: escapeTemplates({ ...of, severity: 'warning' }),
    annotations: escapeTemplates({ summary: `${of.condition} (${of.policy}): ${said}` }),
  });
  return [
    rule('NewRelicConditionOnlyInPrometheus', only(here, there), 'our rule fires, New Relic has no open event.'),
    rule('NewRelicConditionOnlyInNewRelic', only(there, here), 'New Relic has an open event, our rule does not fire.'),
  ];
}

import { Secrets } from '../../log/secrets.ts';
import type { AlertCondition, AlertTerm } from '../../api/alerts.ts';
import { formatDuration } from '../../config/duration.ts';
import { readQueries } from '../../config/queries.ts';
import { escapePlaceholders } from '../../config/yaml/placeholders.ts';
import type { Labels } from '../../metrics/sample.ts';
import { readStatement } from '../../nrql/statement.ts';
import { type ConditionSeries, escapeTemplates, lostSignalExpression, termProblem, termRule } from './expressions.ts';
import { facetLabels } from '../facetLabels.ts';

/** One HELP for all conditions, because a family has one HELP in all accounts. */
const HELP = 'Signal of an alert condition of New Relic over its aggregation window; rules.yaml says which';

/** The account of the conditions, as the configuration has it. */
export interface RuleAccount {
  readonly name: string;
  /** The static labels of the account. */
  readonly labels: Labels;
  /** The account's number at New Relic. */
  readonly id: number;
}

/** A condition with the name of its policy. */
export type PolicyCondition = AlertCondition & { readonly policy: string };

/** The entries of a condition in the files. */
export interface ConvertedCondition {
  readonly query: string;
  readonly metric: string;
  /** Minutes. */
  readonly window: number;
  /** An entry of `queries`, ready to be written. */
  readonly queryEntry: object;
  /** Entries of `rules`, ready to be written. */
  readonly rules: readonly object[];
  /** The differences between the rules and the condition, in words. */
  readonly notes: readonly string[];
}

/** The reason why a condition cannot be mapped, in words; undefined when it can. */
export function whyNotMapped(
  condition: AlertCondition,
  account: RuleAccount,
  withDisabled: boolean,
): string | undefined {
  const { type, enabled, dataAccountId, terms, expiration } = condition;
  if (!enabled && !withDisabled) return 'it is disabled (--disabled converts it)';
  if (type !== 'STATIC') return `its type is ${type.toLowerCase()}: Prometheus has no such judgement`;
  if (dataAccountId !== undefined && dataAccountId !== account.id) {
    return `it reads the data of another account, ${dataAccountId}`;
  }
  const problem = queryProblem(condition, account);
  if (problem !== undefined) return `its query: ${problem}`;
  if (terms.length === 0 && !expiration.openViolationOnExpiration) {
    return 'it has neither a threshold nor an event for a lost signal';
  }
  return terms.map(termProblem).find((each) => each !== undefined);
}

function queryProblem(condition: AlertCondition, account: RuleAccount): string | undefined {
  const { nrql } = conditionQuery(condition.nrql);
  const { columns } = readStatement(nrql);
  if (columns.some(({ calls }) => calls.some(({ name }) => name === 'apdex'))) {
    return 'apdex() gives no single number';
  }
  if (columns.length > 1) return 'it selects several values';
  const metrics = [{ name: 'newrelic_condition_metric' }];
  const entry = { name: 'query', nrql, labels: labelsOf(nrql, account), metrics };
  // The reason that `check` would give, from a configuration with this query alone.
  const configuration = { accounts: [{ account_id: 1, labels: account.labels, queries: [entry] }] };
  return readQueries(configuration, '.', new Secrets()).issues[0]?.message ?? (condition.nrql === '' ? 'it is empty' : undefined);
}

/** The name that conditionQuery gives to a column that it changes. */
const VALUE = 'value';

/** Functions that give 0 over no rows. */
const ZERO_WITHOUT_ROWS: ReadonlySet<string> = new Set(['count', 'uniquecount', 'sum']);

/**
 * The text of a condition's query as the exporter runs it, and the name of its column where that was changed.
 *
 * Inner queries get LIMIT MAX: without it they give ten rows, but New Relic evaluates all rows of a condition. To a count or a
 * sum, `0 * rows / rows` is added: over no rows it is 0, but a condition has no value then, and 0 / 0 gives none either.
 */
export function conditionQuery(text: string): { readonly nrql: string; readonly value: string | undefined } {
  const unlimited = readStatement(text).unlimited.toSorted((a, b) => b - a);
  const whole = unlimited.reduce((query, at) => insert(query, at, ' LIMIT MAX'), text);
  const { columns, facets, sources } = readStatement(whole);
  const [column] = columns;
  const call = column?.calls.find(({ name }) => ZERO_WITHOUT_ROWS.has(name));
  if (column === undefined || columns.length > 1 || facets.length > 0 || call === undefined) {
    return { nrql: whole, value: undefined };
  }
  // In Metric, the rows are those of the metric that the function names, not all rows.
  const isOfMetrics = sources.some((name) => name.toLowerCase() === 'metric') && call.name !== 'uniquecount';
  const [, metric = '*'] = (isOfMetrics && PLAIN_CALL.exec(whole.slice(call.at, call.end))) || [];
  const rows = `count(${metric.trim()})`;
  // The alias written here replaces an alias of the text.
  const value = `${whole.slice(column.at, column.end)} + 0 * ${rows} / ${rows} AS ${VALUE}`;
  return { nrql: whole.slice(0, column.at) + value + whole.slice(column.aliasEnd), value: VALUE };
}

/** A call with one attribute, which is captured. */
const PLAIN_CALL = /^\w+\s*\(([^()*/+-]+)\)$/;

function insert(text: string, at: number, words: string): string {
  return text.slice(0, at) + words + text.slice(at);
}

/** Labels of our rules, and labels that rules would overwrite or drop. */
const RULE_LABELS: ReadonlySet<string> = new Set(
  'policy condition newrelic_condition_id alertname severity signal pod'.split(' '),
);

function labelsOf(nrql: string, account: RuleAccount): readonly string[] | undefined {
  return facetLabels(nrql, Object.keys(account.labels), RULE_LABELS);
}

/**
 * The query and the rules of a condition that can be mapped.
 *
 * @param names each unique in the files
 */
export function convertCondition(
  condition: PolicyCondition,
  account: RuleAccount,
  names: { readonly query: string; readonly metric: string; readonly alert: string },
): ConvertedCondition {
  const { nrql, value: column } = conditionQuery(condition.nrql);
  const labels = labelsOf(nrql, account);
  const { terms, expiration } = condition;
  const window = Math.max(1, Math.ceil((condition.signal.aggregationWindow ?? 60) / 60));
  const { fillOption, fillValue: value = 0 } = condition.signal;
  const fill: ConditionSeries['fill'] =
    fillOption === 'STATIC' || fillOption === 'LAST_VALUE' ? { option: fillOption, value } : undefined;
  const series: ConditionSeries = {
    account: account.name,
    query: names.query,
    metric: names.metric,
    window: window * 60,
    fill: labels === undefined ? fill : undefined,
  };
  const rule = ruleWriter(condition, account);
  const used = new Map<string, number>();
  const rules = terms.map((term) => {
    const severity = term.priority === 'CRITICAL' ? 'critical' : 'warning';
    const earlier = used.get(severity) ?? 0;
    used.set(severity, earlier + 1);
    const alert = earlier === 0 ? names.alert : `${names.alert} (${earlier + 1})`;
    return rule(alert, termRule(series, term), { severity }, violationOf(term));
  });
  if (expiration.openViolationOnExpiration) {
    const lost = { expr: lostSignalExpression(series, expiration) };
    const labelled = { severity: 'critical', signal: 'lost' };
    rules.push(rule(`${names.alert} (signal lost)`, lost, labelled, 'The signal was there, and is lost.'));
  }
  const queryEntry = {
    name: escapePlaceholders(names.query),
    nrql: escapePlaceholders(nrql),
    labels,
    metrics: [{ name: names.metric, help: HELP, value: column }],
    window: formatDuration(window * 60_000),
  };
  const notes = notesOn(condition, window, fill !== undefined && labels !== undefined);
  return { query: names.query, metric: names.metric, window, queryEntry, rules, notes };
}

function violationOf({ operator, threshold, thresholdDuration, thresholdOccurrences }: AlertTerm): string {
  const how = thresholdOccurrences === 'ALL' ? 'for' : 'at least once in';
  const words = operator.toLowerCase().replaceAll('_', ' ');
  return `The signal is ${words} ${threshold} ${how} ${formatDuration(thresholdDuration * 1000)}.`;
}

/** Gives the function that writes a rule of a condition. Templates in texts of the condition are escaped. */
function ruleWriter(condition: PolicyCondition, account: RuleAccount) {
  const common = {
    ...account.labels,
    account: account.name,
    policy: condition.policy,
    condition: condition.name,
    newrelic_condition_id: condition.id,
  };
  return (alert: string, fires: { readonly expr: string }, labels: Labels, said: string): object => {
    const { description, runbookUrl } = condition;
    const annotations = {
      summary: `${condition.name} (${condition.policy})`,
      description: description === '' ? said : `${description}\n\n${said}`,
      runbook_url: runbookUrl,
    };
    return {
      alert,
      ...fires,
      labels: escapeTemplates({ ...common, ...labels }),
      annotations: escapeTemplates(annotations),
    };
  };
}

function notesOn(condition: AlertCondition, window: number, losesFill: boolean): string[] {
  const { signal, expiration, violationTimeLimit, terms } = condition;
  const { aggregationWindow = 60, slideBy, evaluationDelay } = signal;
  const seconds = (count: number): string => formatDuration(count * 1000);
  const notes: string[] = [];
  if (!condition.enabled) notes.push('it is disabled in New Relic, but an alert here');
  if (aggregationWindow !== window * 60) {
    notes.push(`its window of ${seconds(aggregationWindow)} is rounded up to ${seconds(window * 60)}`);
  }
  if (slideBy !== 60 && window > 1) {
    const moves = slideBy === undefined ? 'its windows tumble' : `its windows slide by ${seconds(slideBy)}`;
    notes.push(`${moves}, ours slide by a minute`);
  }
  if (losesFill) notes.push(`gaps are not filled (${signal.fillOption}): the query has facets`);
  if (evaluationDelay !== undefined && evaluationDelay > 0) {
    notes.push(`New Relic waits ${seconds(evaluationDelay)} before it evaluates a new signal, our rules do not`);
  }
  if (violationTimeLimit !== undefined) {
    notes.push(`New Relic closes an event after ${seconds(violationTimeLimit)} in any case, our rules do not`);
  }
  if (expiration.ignoreOnExpectedTermination) {
    notes.push('an expected termination raises no event of a lost signal in New Relic, but an alert here');
  }
  if (terms.some(({ isPredicted }) => isPredicted)) notes.push('its prediction is not mapped, its threshold is');
  return notes;
}

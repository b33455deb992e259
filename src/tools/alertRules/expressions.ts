import type { AlertCondition, AlertTerm } from '../../api/alerts.ts';
import { formatDuration } from '../../config/duration.ts';
import type { Labels } from '../../metrics/sample.ts';

const OPERATORS: Readonly<Partial<Record<string, string>>> = {
  ABOVE: '>',
  ABOVE_OR_EQUALS: '>=',
  BELOW: '<',
  BELOW_OR_EQUALS: '<=',
  EQUALS: '==',
  NOT_EQUALS: '!=',
};

/** Shortest range in seconds. A shorter one may hold no sample, because scrapes and rules run once a minute. */
const SHORTEST_RANGE = 120;
/** Shortest time in seconds for which a gap is filled. */
const SHORTEST_FILL = 7_200;
const HOUR = 3_600;

/** The series of a condition's query. */
export interface ConditionSeries {
  readonly account: string;
  readonly query: string;
  readonly metric: string;
  /** Seconds, whole minutes. */
  readonly window: number;
  /** The value that New Relic evaluates where the query has none; undefined: no value. */
  readonly fill: { readonly option: 'LAST_VALUE' | 'STATIC'; readonly value: number } | undefined;
}

/** The reason why a term has no rule, in words; undefined when it has one. */
export function termProblem({ operator, thresholdOccurrences, priority }: AlertTerm): string | undefined {
  if (OPERATORS[operator] === undefined) return `the operator ${operator} is not known`;
  if (!['ALL', 'AT_LEAST_ONCE'].includes(thresholdOccurrences)) return `${thresholdOccurrences} is not known`;
  return ['CRITICAL', 'WARNING'].includes(priority) ? undefined : `the priority ${priority} is not known`;
}

/**
 * The expression of a term in PromQL, and the times of its rule. The rule fires when the condition would open an event, and
 * ends when New Relic would close it: after the whole duration without a violation.
 */
export function termRule(series: ConditionSeries, term: AlertTerm) {
  const { thresholdDuration: duration, threshold, thresholdOccurrences } = term;
  const violated = `${OPERATORS[term.operator] ?? '>'} ${threshold}`;
  const times = { for: undefined, keep_firing_for: durationText(duration) };
  const isFilled = series.fill !== undefined;
  if (thresholdOccurrences === 'ALL') {
    // The first violating window already took its own length to fill, so the rule waits for the rest of the duration.
    const rest = Math.max(0, duration - series.window);
    return { expr: `${valueOf(series, duration)} ${violated}`, ...times, for: durationText(rest) };
  }
  const over = range(duration);
  if (term.operator === 'EQUALS' || term.operator === 'NOT_EQUALS') {
    const matches = (value: string): string => `count_over_time((${value} ${violated})[${over}:1m])`;
    const count = isFilled ? matches(valueOf(series, duration)) : folded(matches(selector(series)));
    return { expr: `${count} > 0`, ...times };
  }
  const furthest = term.operator.startsWith('BELOW') ? 'min_over_time' : 'max_over_time';
  const value = isFilled
    ? `${furthest}((${valueOf(series, duration)})[${over}:1m])`
    : folded(`${furthest}(${selector(series)}[${over}])`);
  return { expr: `${value} ${violated}`, ...times };
}

/** The expression that fires for an hour after a signal is lost, but not when the exporter cannot read the query. */
export function lostSignalExpression(
  series: ConditionSeries,
  { expirationDuration = 0 }: AlertCondition['expiration'],
): string {
  const lost = Math.max(SHORTEST_RANGE, expirationDuration);
  const within = (seconds: number): string => folded(`last_over_time(${selector(series)}[${durationText(seconds)}])`);
  const { account, query } = series;
  return `${within(lost + HOUR)} unless ${within(lost)} and on () (${succeeded(account, query)})`;
}

/** An expression that has a result while the exporter can read a query. */
export function succeeded(account: string, query: string): string {
  return `max(newrelic_exporter_query_success${matchers({ account, query })}) == 1`;
}

/** The texts that are not empty, with `{{` escaped, because Prometheus expands labels and annotations as templates. */
export function escapeTemplates(texts: Labels): Labels {
  const used = Object.entries(texts).filter(([, text]) => text !== '');
  return Object.fromEntries(used.map(([name, text]) => [name, text.replaceAll('{{', '{{"{{"}}')]));
}

/** The label matchers of a selector; any text can be a value. */
export function matchers(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `{${parts.join(',')}}`;
}

function selector({ metric, account }: ConditionSeries): string {
  return `${metric}${matchers({ account })}`;
}

/** The expression of the value that New Relic would evaluate now. */
function valueOf(series: ConditionSeries, duration: number): string {
  const { fill } = series;
  const x = selector(series);
  if (fill === undefined) return folded(x);
  const last = `last_over_time(${x}[${durationText(Math.max(SHORTEST_FILL, duration))}])`;
  if (fill.option === 'LAST_VALUE') return folded(last);
  // Both sides have the same labels, so that the `for` time continues when one replaces the other.
  const filled = `(0 * max(${last}) + ${fill.value}) and on () (${succeeded(series.account, series.query)})`;
  return `(max(${x}) or (${filled}))`;
}

/** Merges the equal series of two exporters that read the same account. */
function folded(expression: string): string {
  return `max without (instance, pod) (${expression})`;
}

function range(seconds: number): string {
  return durationText(Math.max(SHORTEST_RANGE, seconds));
}

function durationText(seconds: number): string {
  return formatDuration(Math.round(seconds * 1000));
}

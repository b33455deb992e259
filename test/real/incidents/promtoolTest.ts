import type { Altered, Interface, Series } from './fleet.ts';
import { quietFleet } from './fleet.ts';
import type { Incident } from './incidents.ts';

/**
 * What reaches a person: Alertmanager sends one notification for the alerts of one name and account. Counted is how often
 * such a group begins to fire between the start and the given minute.
 */
const notifications = (minutes: number, step: number): string =>
  'sum by (alertname) (count_over_time((' +
  'count by (alertname, account) (ALERTS{alertstate="firing"})' +
  ' unless count by (alertname, account) (ALERTS{alertstate="firing"} offset ' +
  `${step}m)` +
  `)[${minutes}m:${step}m]))`;

/** Minutes from one evaluation to the next on the quiet day. */
export const QUIET_STEP = 10;

/** A day and two hours in which nothing happens, but a scrape is lost now and then: no alert fires. */
export function quietDay(by: Interface) {
  const lost = (minute: number): boolean => minute % 70 === 40;
  const series = quietFleet(by).map(({ name, labels, course }): Series => {
    return { name, labels, course: (minute) => (lost(minute) ? (name === 'up' ? 0 : undefined) : course(minute)) };
  });
  return ruleCase(`a quiet day (${by})`, series, { minutes: 26 * 60, step: QUIET_STEP }, []);
}

export function caseName({ name }: Incident, by: Interface): string {
  return `${name} (${by})`;
}

/** An incident between two quiet times: each of the given alerts fires once, and no other. */
export function caseOf(incident: Incident, by: Interface, alerts: readonly string[]) {
  const { before, lasts, after, step, change } = incident;
  const during = (altered: Altered, { course }: Series): Series['course'] => {
    return (minute) =>
      minute < before || minute >= before + lasts ? course(minute) : altered(minute - before, minute);
  };
  const paused: Series = {
    name: 'newrelic_exporter_api_paused_until_timestamp_seconds',
    labels: { job: 'newrelic-apm-exporter', instance: 'exporter:9126', account: 'production' },
    course: () => undefined,
  };
  const series = [...quietFleet(by), paused].map((each) => {
    const altered = change(each, by);
    return altered === undefined ? each : { ...each, course: during(altered, each) };
  });
  return ruleCase(caseName(incident, by), series, { minutes: before + lasts + after, step }, alerts);
}

/** A case of `promtool test rules`, with the number of times that each alert starts to fire. */
function ruleCase(
  name: string,
  series: readonly Series[],
  { minutes, step }: { readonly minutes: number; readonly step: number },
  alerts: readonly string[],
) {
  return {
    name,
    interval: '1m',
    input_series: series.map((each) => ({ series: selector(each), values: values(each, minutes) })),
    promql_expr_test: [
      {
        // promtool names the expression that does not hold, and not the case.
        expr: `${notifications(minutes, step)} # ${name}`,
        eval_time: `${minutes}m`,
        exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      },
    ],
  };
}

function selector({ name, labels }: Series): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return `${name}{${pairs.join(', ')}}`;
}

/** The values in promtool's notation; a series that a scrape no longer has is stale, as Prometheus marks it. */
function values({ course }: Series, minutes: number): string {
  let there = false;
  const words = Array.from({ length: minutes + 1 }, (_, minute) => {
    const value = course(minute);
    const word = value === undefined ? (there ? 'stale' : '_') : String(value);
    there = value !== undefined;
    return word;
  });
  return words.join(' ');
}

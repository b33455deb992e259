import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  StackingMode,
} from '@grafana/grafana-foundation-sdk/common';
import { APDEX_STEPS, ERROR_STEPS, LINE_OVER_STACK, lines, nameStat, stacked, stat } from './panels.ts';
import { APP, HOST, by, select } from './selectors.ts';

export type Scope = 'application' | 'host';

/** Applications and hosts have the same window families, so they have the same panels. */
const matchers = (scope: Scope): string => (scope === 'application' ? APP : HOST);
const ids = (scope: Scope): string[] => (scope === 'application' ? ['app_id'] : ['app_id', 'host_id']);

/** Selects one series of a window family, or one per value of `labels`. */
export function window(scope: Scope, family: string, labels: readonly string[] = []): string {
  return by([...ids(scope), ...labels], select(`newrelic_${scope}_${family}`, matchers(scope)));
}

const VERDICT = "New Relic's own verdict (health status), from the last list.";
const HEALTH: Readonly<Record<Scope, string>> = {
  application: VERDICT,
  host: `${VERDICT} Empty for an account read through NerdGraph, which has none for hosts.`,
};

/** Builds the row of large figures. */
export function figures(scope: Scope): Builder<Panel>[] {
  const status = by(['status'], `${select(`newrelic_${scope}_health_status`, matchers(scope))} == 1`);
  return [
    nameStat({ title: 'Health', description: HEALTH[scope], unit: 'short' }, [status, '{{status}}']),
    stat({ title: 'Response time', description: 'Mean of the window, queueing included.', unit: 's' }, [
      [window(scope, 'response_time_seconds'), 'response time'],
    ]),
    stat({ title: 'Web throughput', description: 'Web requests per second in the window.', unit: 'reqps' }, [
      [window(scope, 'web_requests_per_second'), 'web'],
    ]),
    stat(
      {
        title: 'Error ratio',
        description: 'Errors over web and non-web transactions in the window.',
        unit: 'percentunit',
      },
      [[window(scope, 'error_ratio'), 'errors']],
    ).thresholds(ERROR_STEPS),
    stat({ title: 'Apdex', description: 'Score of the window, by the threshold beside it.', unit: 'short' }, [
      [window(scope, 'apdex_score'), 'Apdex'],
    ])
      .decimals(2)
      .thresholds(APDEX_STEPS),
    stat({ title: 'Apdex threshold', description: 'The threshold in force in the window.', unit: 's' }, [
      [window(scope, 'apdex_threshold_seconds'), 'threshold'],
    ]),
  ];
}

/** Builds the main chart: the parts of the response time as stacked areas, the response time as a line over them. */
export function breakdown(scope: Scope, span = 24): Builder<Panel> {
  return stacked(
    {
      title: 'Response time by component',
      description:
        'Time per web request. Areas: each component, request queueing, and the rest (the application itself); line: ' +
        'the response time. With work in parallel the areas can exceed the line, and the rest can fall below zero.',
      unit: 's',
    },
    [
      [window(scope, 'total_time_seconds'), 'Application'],
      [window(scope, 'component_time_seconds', ['component']), '{{component}}'],
      [window(scope, 'queue_time_seconds'), 'Request queueing'],
      [window(scope, 'response_time_seconds'), 'Response time'],
    ],
    span,
  )
    .height(11)
    .overrideByQuery('D', LINE_OVER_STACK);
}

/** Builds the charts of throughput, Apdex, errors and calls of components. */
export function charts(scope: Scope): Builder<Panel>[] {
  return [
    stacked({ title: 'Throughput', description: 'Web and non-web transactions per second.', unit: 'reqps' }, [
      [window(scope, 'web_requests_per_second'), 'web'],
      [window(scope, 'non_web_requests_per_second'), 'non-web'],
    ]).min(0),
    lines({ title: 'Apdex', description: 'Score of the window; the bands are those of New Relic.', unit: 'short' }, [
      [window(scope, 'apdex_score'), 'Apdex'],
    ])
      .min(0)
      .max(1)
      .thresholds(APDEX_STEPS)
      .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Area)),
    stacked(
      { title: 'Apdex zones', description: 'Share of satisfied, tolerating and frustrated requests.', unit: 'short' },
      [[window(scope, 'apdex_requests', ['zone']), '{{zone}}']],
      12,
      StackingMode.Percent,
    ),
    lines({ title: 'Errors', description: 'Errors per second, web and non-web.', unit: 'cps' }, [
      [window(scope, 'errors_per_second'), 'errors per second'],
    ]).min(0),
    lines({ title: 'Error ratio', description: 'Errors over web and non-web transactions.', unit: 'percentunit' }, [
      [window(scope, 'error_ratio'), 'error ratio'],
    ]).min(0),
    lines({ title: 'Calls of components', description: 'Calls per second of databases and services.', unit: 'cps' }, [
      [window(scope, 'component_calls_per_second', ['component']), '{{component}}'],
    ]).min(0),
  ];
}

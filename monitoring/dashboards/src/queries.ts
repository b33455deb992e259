import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { ClassicDashboard } from './frame.ts';
import { frame } from './frame.ts';
import { lines, stacked, stat, table } from './panels.ts';
import { ACCOUNT, by, select } from './selectors.ts';
import { account, datasource, jobAndInstance } from './variables.ts';

/** Selects a family of a pack: one series for each combination of `labels`. */
const perLabels = (family: string, ...labels: string[]): string => by(['account', ...labels], select(family, ACCOUNT));
const describeEmpty = (pack: string): string => `Empty without the query pack ${pack}.`;
/** The labels of an alert event. */
const EVENT = ['priority', 'policy', 'condition', 'entity', 'muted'];
const APP_NAME = '{{app}} ({{account}}, {{app_id}})';
const WINDOW = 'In the window of the query.';

const ALERT_EVENTS: Builder<Panel>[] = [
  table(
    {
      title: 'Open alert events',
      description: `Alert events of New Relic's alert conditions that are open; muted: when it opened. ${describeEmpty('alert_events')}`,
      unit: 'short',
    },
    [
      {
        title: 'Open',
        expression: `${perLabels('newrelic_alert_events_open', ...EVENT)} > 0`,
        unit: 'short',
      },
      {
        title: 'Oldest since',
        expression: `1000 * ${perLabels('newrelic_alert_events_oldest_open_timestamp_seconds', ...EVENT)}`,
        unit: 'dateTimeFromNow',
      },
    ],
  ),
];

const SERVICE_LEVELS: Builder<Panel>[] = [
  lines(
    {
      title: 'Compliance',
      description: `Share of good events. ${describeEmpty('service_levels')}`,
      unit: 'percentunit',
    },
    [[perLabels('newrelic_service_level_compliance_ratio', 'service_level'), '{{service_level}} ({{account}})']],
  ),
  lines(
    {
      title: 'Remaining error budget',
      description: `Remaining share of the budget; below zero once it is overspent. ${describeEmpty('service_levels')}`,
      unit: 'percentunit',
    },
    [
      [
        perLabels('newrelic_service_level_remaining_error_budget_ratio', 'service_level'),
        '{{service_level}} ({{account}})',
      ],
    ],
  ),
];

const TRANSACTIONS: Builder<Panel>[] = [
  lines(
    {
      title: 'Duration of web transactions',
      description: `The 95th percentile of the events that the agents kept. ${describeEmpty('transactions')}`,
      unit: 's',
    },
    [
      [
        by(['account', 'app', 'app_id'], select('newrelic_transaction_duration_seconds', ACCOUNT, 'percentile="95"')),
        APP_NAME,
      ],
    ],
  ).min(0),
  lines(
    {
      title: 'Events behind the percentiles',
      description: `Agents keep only some of the events of a busy minute. ${WINDOW} ${describeEmpty('transactions')}`,
      unit: 'short',
    },
    [[perLabels('newrelic_transaction_sampled_events', 'app', 'app_id'), APP_NAME]],
  ).min(0),
  table(
    {
      title: 'Transactions that take most time',
      description: `From timeslices, which count every call. ${WINDOW} ${describeEmpty('transactions')}`,
      unit: 'short',
    },
    [
      {
        title: 'Time',
        expression: perLabels('newrelic_transaction_busy_seconds', 'app', 'app_id', 'transaction'),
        unit: 's',
      },
      {
        title: 'Calls',
        expression: perLabels('newrelic_transaction_calls', 'app', 'app_id', 'transaction'),
        unit: 'short',
      },
    ],
  ),
];

const BROWSER: Builder<Panel>[] = [
  lines({ title: 'Page views', description: `${WINDOW} ${describeEmpty('browser')}`, unit: 'short' }, [
    [perLabels('newrelic_browser_page_views', 'app'), '{{app}} ({{account}})'],
  ]).min(0),
  lines({ title: 'Script errors', description: `${WINDOW} ${describeEmpty('browser')}`, unit: 'short' }, [
    [perLabels('newrelic_browser_script_errors', 'app'), '{{app}} ({{account}})'],
  ]).min(0),
  lines(
    {
      title: 'Largest contentful paint and interaction to next paint',
      description: `The 75th percentiles. ${describeEmpty('browser')}`,
      unit: 's',
    },
    [
      [perLabels('newrelic_browser_largest_contentful_paint_seconds', 'app'), '{{app}} ({{account}}) LCP'],
      [perLabels('newrelic_browser_interaction_to_next_paint_seconds', 'app'), '{{app}} ({{account}}) INP'],
    ],
  ).min(0),
  lines(
    {
      title: 'Cumulative layout shift',
      description: `The 75th percentile; up to 0.1 is called good. ${describeEmpty('browser')}`,
      unit: 'short',
    },
    [[perLabels('newrelic_browser_cumulative_layout_shift', 'app'), '{{app}} ({{account}})']],
  ).min(0),
];

const SYNTHETICS: Builder<Panel>[] = [
  lines(
    {
      title: 'Checks that fail',
      description: `Share of the checks. ${describeEmpty('synthetics')}`,
      unit: 'percentunit',
    },
    [
      [
        `${perLabels('newrelic_synthetics_failures', 'monitor', 'location')} / ${perLabels('newrelic_synthetics_checks', 'monitor', 'location')}`,
        '{{monitor}} {{location}}',
      ],
    ],
  ).min(0),
  lines({ title: 'Duration of a check', description: `The median. ${describeEmpty('synthetics')}`, unit: 's' }, [
    [perLabels('newrelic_synthetics_duration_seconds', 'monitor', 'location'), '{{monitor}} {{location}}'],
  ]).min(0),
];

const DEPLOYMENTS: Builder<Panel>[] = [
  table({ title: 'Newest deployments', description: describeEmpty('deployments'), unit: 'short' }, [
    {
      title: 'Deployed',
      expression: `1000 * ${perLabels('newrelic_deployment_timestamp_seconds', 'entity', 'version')}`,
      unit: 'dateTimeFromNow',
    },
  ]).height(6),
];

const LIMITS: Builder<Panel>[] = [
  lines(
    {
      title: 'Share of limits',
      description: `Share of New Relic's limits per minute that the account uses; beyond 100% New Relic drops data. ${describeEmpty('limits')}`,
      unit: 'percentunit',
    },
    [
      [
        `${perLabels('newrelic_limit_used_per_minute', 'limit')} / ${perLabels('newrelic_limit_allowed_per_minute', 'limit')}`,
        '{{limit}} ({{account}})',
      ],
    ],
  ).min(0),
  lines(
    {
      title: 'Incidents of limits',
      description: `How often a limit was exceeded. ${WINDOW} ${describeEmpty('limits')}`,
      unit: 'short',
    },
    [[perLabels('newrelic_limit_incidents', 'limit'), '{{limit}} ({{account}})']],
  ).min(0),
];

const USAGE: Builder<Panel>[] = [
  stacked(
    {
      title: 'Data of a day',
      description: `Billable data of the last day. ${describeEmpty('usage')}`,
      unit: 'decbytes',
    },
    [[perLabels('newrelic_usage_ingested_bytes', 'source'), '{{source}} ({{account}})']],
    8,
  ).min(0),
  lines(
    {
      title: 'Compute of a day',
      description: `Compute units (CCU) of the last day. ${describeEmpty('usage')}`,
      unit: 'short',
    },
    [[perLabels('newrelic_usage_compute_units', 'kind'), '{{kind}} ({{account}})']],
    8,
  ).min(0),
  stat(
    {
      title: 'Data of the month',
      description: `Billable data of the month so far. ${describeEmpty('usage')}`,
      unit: 'decbytes',
    },
    [[perLabels('newrelic_usage_month_ingested_bytes'), '{{account}}']],
  ).height(8),
  stat(
    { title: 'Users of the month', description: `Billable users so far. ${describeEmpty('usage')}`, unit: 'short' },
    [
      [perLabels('newrelic_usage_month_full_platform_users'), 'full platform ({{account}})'],
      [perLabels('newrelic_usage_month_core_users'), 'core ({{account}})'],
      [perLabels('newrelic_usage_month_full_users'), 'full ({{account}})'],
    ],
  ).height(8),
];

const name = '{{account}} {{query}}';
const EVERY_QUERY: Builder<Panel>[] = [
  lines(
    {
      title: 'Query without failure',
      description: '1 when the last run of a query had no failure. Empty without queries.',
      unit: 'short',
    },
    [[perLabels('newrelic_exporter_query_success', 'query'), name]],
    8,
  )
    .min(0)
    .max(1),
  stacked(
    { title: 'Series of queries', description: 'Series that each query gives. Empty without queries.', unit: 'short' },
    [[perLabels('newrelic_exporter_query_series', 'query'), name]],
    8,
  ).min(0),
  lines(
    { title: 'Duration of a query', description: 'How long the last run took. Empty without queries.', unit: 's' },
    [[perLabels('newrelic_exporter_query_duration_seconds', 'query'), name]],
    8,
  ).min(0),
];

/** Shows the results of the query packs, and the health of every query. */
export function queriesDashboard(): ClassicDashboard {
  const dashboard = frame('queries', 'Results of the query packs, and the health of every query.', [
    datasource(),
    ...jobAndInstance('newrelic_exporter_build_info'),
    account(),
  ]);
  const rows: readonly (readonly [title: string, panels: readonly Builder<Panel>[]])[] = [
    ['Alert events', ALERT_EVENTS],
    ['Service levels', SERVICE_LEVELS],
    ['Transactions', TRANSACTIONS],
    ['Browser', BROWSER],
    ['Synthetics', SYNTHETICS],
    ['Deployments', DEPLOYMENTS],
    ['Limits', LIMITS],
    ['Usage', USAGE],
    ['Queries', EVERY_QUERY],
  ];
  for (const [title, panels] of rows) {
    dashboard.withRow(new RowBuilder(title));
    for (const panel of panels) dashboard.withPanel(panel);
  }
  return dashboard.build();
}

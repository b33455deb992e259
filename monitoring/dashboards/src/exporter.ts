import type { Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import type { ClassicDashboard } from './frame.ts';
import { frame } from './frame.ts';
import { LINE_OVER_STACK, lines, nameStat, stacked, stat, steps } from './panels.ts';
import { ACCOUNT, EXPORTER, select } from './selectors.ts';
import { account, datasource, jobAndInstance } from './variables.ts';

const NAME = '{{instance}} {{account}}';
const GROUP = `${NAME} {{group}}`;
const DAY = 86_400;

/** Selects a family per process and account. Never merges processes: every process has its own budget. */
const exporterFamily = (family: string, more = ''): string => select(`newrelic_exporter_${family}`, ACCOUNT, more);
const perMinute = (family: string, labels: string): string =>
  `60 * sum by (instance, account, ${labels}) (rate(${exporterFamily(family)}[$__rate_interval]))`;
/** Adds a 0 per account for an expression that is mostly absent. */
const orZero = (expression: string): string =>
  `${expression} or on (instance, account) 0 * ${select('newrelic_up', ACCOUNT)}`;

const AGES: Builder<Panel>[] = [
  lines(
    {
      title: 'Applications',
      description:
        'Applications that New Relic lists, that are exported, and that report. A list that shrinks needs a look.',
      unit: 'short',
    },
    [[`max by (instance, account, state) (${exporterFamily('applications')})`, `${NAME} {{state}}`]],
  ).min(0),
  lines(
    {
      title: 'Age of the data',
      description: 'Time since the end of the oldest window served, per group: at least the delay of the collection.',
      unit: 's',
    },
    [[`time() - ${exporterFamily('oldest_window_end_timestamp_seconds')}`, GROUP]],
  ).min(0),
  lines(
    {
      title: 'Effective interval',
      description: 'Interval at which the budget allows each group to refresh.',
      unit: 's',
    },
    [[exporterFamily('effective_interval_seconds'), GROUP]],
  ).min(0),
  stacked(
    { title: 'Entities by state', description: 'Fresh, stale (past due), missing (nothing to serve).', unit: 'short' },
    [[`sum by (instance, account, state) (${exporterFamily('collection_entities')})`, `${NAME} {{state}}`]],
  ).min(0),
  lines(
    {
      title: 'Refresh without failure',
      description: '1 when the last refresh of a group had no failure.',
      unit: 'short',
    },
    [[exporterFamily('collection_success'), GROUP]],
  )
    .min(0)
    .max(1),
  lines({ title: 'Duration of a refresh', description: 'How long the last refresh of each group took.', unit: 's' }, [
    [exporterFamily('collection_duration_seconds'), GROUP],
  ]).min(0),
  lines({ title: 'Since the last success', description: 'Time since the last refresh without a failure.', unit: 's' }, [
    [`time() - ${exporterFamily('collection_last_success_timestamp_seconds')}`, GROUP],
  ]).min(0),
];

/** Panels for accounts with counters. The share is per exporter: two exporters count the same data twice. */
const COUNTERS: Builder<Panel>[] = [
  lines(
    {
      title: 'Late data',
      description:
        'Share of the transactions that arrived after their minute was read: above 1% raise collection.delay. Empty for an ' +
        'account without counters.',
      unit: 'percentunit',
    },
    [
      [
        `rate(${exporterFamily('late_transactions_total')}[$__rate_interval]) / on (job, instance, account) sum by (job, instance, account) ` +
          `(rate(${select('newrelic_application_transactions_total', ACCOUNT)}[$__rate_interval]))`,
        NAME,
      ],
    ],
  ).min(0),
  lines(
    {
      title: 'Lost time',
      description:
        'Seconds per second that the counters of all applications together miss. Empty for an account ' +
        'without counters.',
      unit: 'short',
    },
    [[`rate(${exporterFamily('lost_seconds_total')}[$__rate_interval])`, NAME]],
  ).min(0),
];

const CALLS: Builder<Panel>[] = [
  stacked(
    { title: 'Calls per minute', description: 'Calls by endpoint; the line is the budget in force.', unit: 'rpm' },
    [
      [perMinute('api_requests_total', 'endpoint'), `${NAME} {{endpoint}}`],
      [exporterFamily('api_budget_requests_per_minute'), `${NAME} budget`],
    ],
  )
    .min(0)
    .overrideByQuery('B', LINE_OVER_STACK),
  lines(
    {
      title: 'Share of the budget',
      description: 'Calls over the budget in force: 1 is all of it.',
      unit: 'percentunit',
    },
    [[select('instance_account:newrelic_exporter_api_requests_per_budget:ratio_rate5m', ACCOUNT), NAME]],
  ).min(0),
  lines({ title: 'Failures per minute', description: 'Failed calls by reason.', unit: 'rpm' }, [
    [orZero(perMinute('api_failures_total', 'reason')), `${NAME} {{reason}}`],
  ]).min(0),
  lines({ title: 'Time of a call', description: 'The 95th percentile by endpoint.', unit: 's' }, [
    [
      'histogram_quantile(0.95, sum by (le, endpoint) ' +
        `(rate(${exporterFamily('api_request_duration_seconds_bucket')}[$__rate_interval])))`,
      '{{endpoint}}',
    ],
  ]).min(0),
  lines({ title: 'In flight and retries', description: 'Calls at once, and retries per minute.', unit: 'short' }, [
    [exporterFamily('api_requests_in_flight'), `${NAME} in flight`],
    [orZero(`60 * rate(${exporterFamily('api_retries_total')}[$__rate_interval])`), `${NAME} retries per minute`],
  ]).min(0),
  lines({ title: 'Pause', description: 'How long calls still pause after an overload response.', unit: 's' }, [
    [orZero(`${exporterFamily('api_paused_until_timestamp_seconds')} - time()`), NAME],
  ]).min(0),
  lines(
    {
      title: 'Batches read again in parts',
      description:
        'Batches of NerdGraph that were truncated, too slow or refused, per minute: each costs calls. Always 0 for an ' +
        'account read through the REST API.',
      unit: 'rpm',
    },
    [[orZero(perMinute('api_batches_split_total', 'reason')), `${NAME} {{reason}}`]],
  ).min(0),
];

const process = (family: string): string => select(family, EXPORTER);
const PROCESS: Builder<Panel>[] = [
  stacked({ title: 'Scrapes', description: 'Scrapes per minute, complete and partial.', unit: 'rpm' }, [
    [
      `60 * sum by (instance, result) (rate(${process('newrelic_exporter_scrapes_total')}[$__rate_interval]))`,
      '{{instance}} {{result}}',
    ],
  ]).min(0),
  lines({ title: 'Series', description: 'The ten largest families.', unit: 'short' }, [
    [`topk(10, ${process('newrelic_exporter_series')})`, '{{instance}} {{family}}'],
  ]).min(0),
  lines({ title: 'Series dropped', description: 'Series cut by a limit, per minute.', unit: 'rpm' }, [
    [
      `60 * sum by (instance) (rate(${process('newrelic_exporter_series_dropped_total')}[$__rate_interval])) ` +
        `or on (instance) 0 * ${process('newrelic_exporter_build_info')}`,
      '{{instance}}',
    ],
  ]).min(0),
  lines({ title: 'Memory', description: 'Resident memory of the process.', unit: 'bytes' }, [
    [process('process_resident_memory_bytes'), '{{instance}}'],
  ]).min(0),
  lines({ title: 'CPU', description: 'Processor time per second.', unit: 'percentunit' }, [
    [`rate(${process('process_cpu_seconds_total')}[$__rate_interval])`, '{{instance}}'],
  ]).min(0),
  lines(
    { title: 'Event loop lag', description: 'The 99th percentile: how long a scrape may have to wait.', unit: 's' },
    [[process('nodejs_eventloop_lag_p99_seconds'), '{{instance}}']],
  ).min(0),
];

/** Shows whether the data of the other dashboards are fresh, and what they cost. */
export function exporterDashboard(): ClassicDashboard {
  const dashboard = frame('exporter', 'Health of the exporter: freshness, calls against the budget, the process.', [
    datasource(),
    ...jobAndInstance('newrelic_exporter_build_info'),
    account(),
  ])
    .withRow(new RowBuilder('Now'))
    .withPanel(
      stat(
        { title: 'Account readable', description: '1: the last application list was read whole.', unit: 'bool_yes_no' },
        [[select('newrelic_up', ACCOUNT), NAME]],
        8,
      ).thresholds(steps(['red', null], ['green', 1])),
    )
    .withPanel(
      stat(
        { title: 'Last reload', description: '1: the running configuration is that of the file.', unit: 'bool_yes_no' },
        [[process('newrelic_exporter_config_last_reload_successful'), '{{instance}}']],
        8,
      ).thresholds(steps(['red', null], ['green', 1])),
    )
    .withPanel(
      stat(
        { title: 'Version', description: 'Version of each process, as the name of its series.', unit: 'short' },
        [[process('newrelic_exporter_build_info'), '{{instance}} {{version}}']],
        8,
      ),
    )
    .withPanel(
      nameStat(
        {
          title: 'Interface',
          description: 'The interface of each account (rest or nerdgraph), and its region, if any.',
          unit: 'short',
        },
        [exporterFamily('account_info'), `${NAME} {{api}} {{region}}`],
        12,
      ),
    )
    .withPanel(
      stat(
        {
          title: 'Time until the interface ends',
          description:
            'How long New Relic still serves the interface of the account. Empty for an account read through NerdGraph, ' +
            'for which no end is announced.',
          unit: 's',
        },
        [[`${exporterFamily('api_end_of_life_timestamp_seconds')} - time()`, NAME]],
        12,
      ).thresholds(steps(['red', null], ['orange', 30 * DAY], ['green', 180 * DAY])),
    )
    .withRow(new RowBuilder('Freshness'));
  for (const panel of AGES) dashboard.withPanel(panel);
  dashboard.withRow(new RowBuilder('Counters'));
  for (const panel of COUNTERS) dashboard.withPanel(panel);
  dashboard.withRow(new RowBuilder('Calls'));
  for (const panel of CALLS) dashboard.withPanel(panel);
  dashboard.withRow(new RowBuilder('Process'));
  for (const panel of PROCESS) dashboard.withPanel(panel);
  return dashboard.build();
}

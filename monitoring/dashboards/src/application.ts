import { AnnotationQueryBuilder, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import type { ClassicDashboard } from './frame.ts';
import { HOST_ADDRESS, frame } from './frame.ts';
import { APDEX_COLUMN, ERROR_COLUMN, HEALTH_COLUMN, columnLink, lines, table } from './panels.ts';
import { breakdown, charts, figures, window } from './scopePanels.ts';
import { ACCOUNT, APP, RECORDED_APP, by, healthRank, select } from './selectors.ts';
import { DATASOURCE, accountOfApplications, application, datasource, jobAndInstance } from './variables.ts';

const HOST_IDS = ['host', 'host_id'];
const HOSTS_DESCRIPTION =
  'Window values per host; follow the name for details. Health is empty for an account read through NerdGraph, which has ' +
  'none for hosts.';
const KEY_IDS = ['key_transaction', 'key_transaction_id'];

const host = (family: string): string => by(HOST_IDS, select(`newrelic_host_${family}`, APP));
const key = (family: string): string => by(KEY_IDS, select(`newrelic_key_transaction_${family}`, APP));
const KEY_NAME = '{{key_transaction}} ({{key_transaction_id}})';
const ROLLING = 'Rolling value of each key transaction over 10 minutes.';

/** Rate per exporter: two exporters count different amounts. */
const rate = (family: string, more = ''): string =>
  `rate(${select(`newrelic_application_${family}_total`, APP, more)}[$__rate_interval])`;
const burnRate = (time: string): string =>
  select(`account_app_slo:newrelic_slo_burn_rate:ratio_rate${time}`, RECORDED_APP);
const COUNTERS_ONLY = 'Empty for an account without counters.';

/**
 * Returns the newest deployment of the chosen application in milliseconds, one series per version. Applications and
 * entities of the pack `deployments` share only their name: `entity` matches `app`.
 */
const DEPLOYMENTS =
  `1000 * ${by(['account', 'entity', 'version'], select('newrelic_deployment_timestamp_seconds', ACCOUNT))} * on (account, entity) ` +
  `group_left () label_replace(group by (account, app) (${select('newrelic_application_info', APP)}), "entity", "$1", "app", "(.*)")`;

/** Shows one application: where its time goes, its throughput, its quality, its hosts. */
export function applicationDashboard(): ClassicDashboard {
  const dashboard = frame('application', 'One application in depth.', [
    datasource(),
    ...jobAndInstance('newrelic_application_info'),
    accountOfApplications(),
    application('one'),
  ])
    .annotation(
      new AnnotationQueryBuilder()
        .name('Deployments')
        .datasource(DATASOURCE)
        .enable(true)
        .iconColor('blue')
        .expr(DEPLOYMENTS)
        .titleFormat('{{entity}} {{version}}')
        .useValueForTime(true),
    )
    .withRow(new RowBuilder('Now'));
  for (const panel of figures('application')) dashboard.withPanel(panel);

  dashboard.withRow(new RowBuilder('Web transactions')).withPanel(breakdown('application'));
  for (const panel of charts('application')) dashboard.withPanel(panel);

  return dashboard
    .withPanel(
      lines(
        {
          title: 'Percentiles of web transactions',
          description: 'Calculated from the events that the agents kept. Empty without the query pack transactions.',
          unit: 's',
        },
        [[by(['percentile'], select('newrelic_transaction_duration_seconds', APP)), '{{percentile}} % took at most']],
        24,
      ).min(0),
    )
    .withRow(new RowBuilder('Hosts'))
    .withPanel(
      table({ title: 'Hosts', description: HOSTS_DESCRIPTION, unit: 'short' }, [
        {
          title: 'Health',
          expression: healthRank('newrelic_host_health_status', APP, HOST_IDS),
          unit: 'short',
          display: HEALTH_COLUMN,
        },
        { title: 'Response time', expression: host('response_time_seconds'), unit: 's' },
        { title: 'Web throughput', expression: host('web_requests_per_second'), unit: 'reqps' },
        { title: 'Error ratio', expression: host('error_ratio'), unit: 'percentunit', display: ERROR_COLUMN },
        { title: 'Apdex', expression: host('apdex_score'), unit: 'short', display: APDEX_COLUMN },
        { title: 'Memory of a process', expression: host('memory_used_bytes'), unit: 'bytes' },
        { title: 'CPU', expression: host('cpu_usage_ratio'), unit: 'percentunit' },
      ]).overrideByName('host', columnLink('Open the host', HOST_ADDRESS)),
    )
    .withPanel(
      lines(
        {
          title: 'Memory of a process by host',
          description: 'Physical memory of a process, the mean over the processes of the application on each host.',
          unit: 'bytes',
        },
        [[host('memory_used_bytes'), '{{host}} ({{host_id}})']],
      ).min(0),
    )
    .withPanel(
      lines(
        {
          title: 'CPU by host',
          description: 'User time over wall clock; several processes can exceed 100%.',
          unit: 'percentunit',
        },
        [[host('cpu_usage_ratio'), '{{host}} ({{host_id}})']],
      ).min(0),
    )
    .withRow(new RowBuilder('Counters and service levels'))
    .withPanel(
      lines(
        {
          title: 'Transactions per second',
          description: `Every minute once, late data too. ${COUNTERS_ONLY}`,
          unit: 'reqps',
        },
        [[`max by (kind) (${rate('transactions')})`, '{{kind}}']],
      ).min(0),
    )
    .withPanel(
      lines({ title: 'Errors by transactions', description: COUNTERS_ONLY, unit: 'percentunit' }, [
        [
          `max by (app_id) (${rate('transaction_errors')} / sum without (kind) (${rate('transactions')}))`,
          'error ratio',
        ],
      ]).min(0),
    )
    .withPanel(
      lines({ title: 'Mean time of a web transaction', description: `Without queueing. ${COUNTERS_ONLY}`, unit: 's' }, [
        [
          `max by (app_id) (${rate('web_transaction_seconds')} / ignoring (kind) ${rate('transactions', 'kind="web"')})`,
          'mean time',
        ],
      ]).min(0),
    )
    .withPanel(
      lines(
        {
          title: 'Burn rate of the error budget',
          description:
            'At 1 the budget lasts exactly for the period of the objective. Recorded by monitoring/rules/slo.yaml from counters.',
          unit: 'short',
        },
        ['1h', '6h', '3d'].map((time) => [burnRate(time), `{{slo}}, ${time}`] as const),
      ).min(0),
    )
    .withRow(new RowBuilder('Key transactions'))
    .withPanel(
      table({ title: 'Key transactions', description: 'Rolling values over 10 minutes.', unit: 'short' }, [
        {
          title: 'Health',
          expression: healthRank('newrelic_key_transaction_health_status', APP, KEY_IDS),
          unit: 'short',
          display: HEALTH_COLUMN,
        },
        { title: 'Response time', expression: key('rolling_response_time_seconds'), unit: 's' },
        { title: 'Throughput', expression: key('rolling_requests_per_second'), unit: 'reqps' },
        { title: 'Error ratio', expression: key('rolling_error_ratio'), unit: 'percentunit', display: ERROR_COLUMN },
        { title: 'Apdex', expression: key('rolling_apdex_score'), unit: 'short', display: APDEX_COLUMN },
        { title: 'Apdex target', expression: key('rolling_apdex_target_seconds'), unit: 's' },
      ]),
    )
    .withPanel(
      lines({ title: 'Response time of key transactions', description: ROLLING, unit: 's' }, [
        [key('rolling_response_time_seconds'), KEY_NAME],
      ]).min(0),
    )
    .withPanel(
      lines({ title: 'Throughput of key transactions', description: ROLLING, unit: 'reqps' }, [
        [key('rolling_requests_per_second'), KEY_NAME],
      ]).min(0),
    )
    .withPanel(
      lines({ title: 'Error ratio of key transactions', description: ROLLING, unit: 'percentunit' }, [
        [key('rolling_error_ratio'), KEY_NAME],
      ]).min(0),
    )
    .withPanel(
      lines({ title: 'Apdex of key transactions', description: ROLLING, unit: 'short' }, [
        [key('rolling_apdex_score'), KEY_NAME],
      ])
        .min(0)
        .max(1),
    )
    .withRow(new RowBuilder('Browser'))
    .withPanel(
      lines({ title: 'Page load time', description: 'Mean of the window, as browsers measured it.', unit: 's' }, [
        [window('application', 'end_user_response_time_seconds'), 'page load'],
      ]),
    )
    .withPanel(
      lines({ title: 'Page views', description: 'Page views per second in the window.', unit: 'cps' }, [
        [window('application', 'end_user_page_views_per_second'), 'page views'],
      ]).min(0),
    )
    .build();
}

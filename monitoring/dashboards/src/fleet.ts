import { RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import type { ClassicDashboard } from './frame.ts';
import { APPLICATION_ADDRESS, frame } from './frame.ts';
import { APDEX_COLUMN, ERROR_COLUMN, HEALTH_COLUMN, columnLink, lines, stat, steps, table } from './panels.ts';
import { runbookColumn } from './runbooks.ts';
import { APP, RECORDED, RECORDED_APP, by, healthRank, select } from './selectors.ts';
import { accountOfApplications, application, datasource, jobAndInstance } from './variables.ts';

const IDS = ['account', 'app', 'app_id'];
/** Labels that identify an alert. The table has no column for a label that no alert has. */
const ALERT_LABELS = ['severity', 'alertname', 'account', 'app', 'app_id', 'key_transaction', 'host', 'group'];
/** Shows the same text as the variable `app`: names may be equal. */
const NAME = '{{app}} ({{account}}, {{app_id}})';

/** When each firing alert began, in milliseconds. */
const FIRING_SINCE =
  `1000 * ${by(ALERT_LABELS, 'ALERTS_FOR_STATE{alertname=~"NewRelic.+", account=~"$account|"}')} and ` +
  by(ALERT_LABELS, 'ALERTS{alertname=~"NewRelic.+", alertstate="firing", account=~"$account|"}');

const each = (family: string): string => by(IDS, select(`newrelic_application_${family}`, APP));
/** A recording rule per application, and per account. */
const recorded = (rule: string): string => select(`account_app:newrelic_application_${rule}`, RECORDED_APP);
const recordedPerAccount = (rule: string): string => select(`account:newrelic_application_${rule}`, RECORDED);
const health = healthRank('newrelic_application_health_status', APP, IDS);

/** Shows all applications at a glance, with a link to each. */
export function fleetDashboard(): ClassicDashboard {
  return frame('fleet', 'All applications of the chosen accounts.', [
    datasource(),
    ...jobAndInstance('newrelic_application_info'),
    accountOfApplications(),
    application('several'),
  ])
    .withRow(new RowBuilder('Now'))
    .withPanel(
      stat(
        {
          title: 'Applications',
          description: 'Exported applications: those that New Relic lists and the configuration does not exclude.',
          unit: 'short',
        },
        [[`count(${each('info')})`, 'applications']],
      ),
    )
    .withPanel(
      stat({ title: 'Not reporting', description: 'Applications whose agents send nothing.', unit: 'short' }, [
        [`count(${each('reporting')} == 0) or vector(0)`, 'not reporting'],
      ]).thresholds(steps(['green', null], ['orange', 1])),
    )
    .withPanel(
      stat(
        { title: 'Red or orange', description: 'Applications whose health status is red or orange.', unit: 'short' },
        [[`count((${health}) >= 2) or vector(0)`, 'red or orange']],
      ).thresholds(steps(['green', null], ['red', 1])),
    )
    .withPanel(
      stat(
        {
          title: 'Web throughput',
          description: 'Web requests of all chosen applications in the window.',
          unit: 'reqps',
        },
        [[`sum(${recorded('web_requests_per_second:avg')})`, 'web']],
      ),
    )
    .withPanel(
      stat(
        {
          title: 'Response time',
          description: 'Mean over web requests: every application weighs by its throughput. Queueing is included.',
          unit: 's',
        },
        [
          [
            `sum(${recorded('response_time_seconds:per_second')}) / ` +
              `sum(${recorded('web_requests_per_second:avg')} and ${recorded('response_time_seconds:per_second')})`,
            'response time',
          ],
        ],
      ),
    )
    .withPanel(
      stat({ title: 'Errors', description: 'Errors of all chosen applications per second.', unit: 'cps' }, [
        [`sum(${recorded('errors_per_second:avg')})`, 'errors'],
      ]),
    )
    .withRow(new RowBuilder('Alerts'))
    .withPanel(
      table(
        {
          title: 'Current alerts',
          description:
            'Alerts of monitoring/rules that fire now in the Prometheus of the data source; the runbook says what to do. Empty ' +
            'while no alert fires.',
          unit: 'short',
        },
        [
          {
            title: 'Since',
            expression: `label_replace(${FIRING_SINCE}, "runbook", "$1", "alertname", "(.+)")`,
            unit: 'dateTimeFromNow',
          },
        ],
      )
        .overrideByName('runbook', runbookColumn())
        .height(6),
    )
    .withRow(new RowBuilder('Applications'))
    .withPanel(
      table({ title: 'Applications', description: 'Window values; follow the name for details.', unit: 'short' }, [
        { title: 'Health', expression: health, unit: 'short', display: HEALTH_COLUMN },
        { title: 'Reporting', expression: each('reporting'), unit: 'bool_yes_no' },
        { title: 'Response time', expression: each('response_time_seconds'), unit: 's' },
        { title: 'Web throughput', expression: each('web_requests_per_second'), unit: 'reqps' },
        { title: 'Non-web throughput', expression: each('non_web_requests_per_second'), unit: 'reqps' },
        { title: 'Error ratio', expression: each('error_ratio'), unit: 'percentunit', display: ERROR_COLUMN },
        { title: 'Apdex', expression: each('apdex_score'), unit: 'short', display: APDEX_COLUMN },
        { title: 'Hosts', expression: each('hosts'), unit: 'short' },
      ]).overrideByName('app', columnLink('Open the application', APPLICATION_ADDRESS)),
    )
    .withRow(new RowBuilder('Accounts'))
    .withPanel(
      lines(
        {
          title: 'Throughput by account',
          description: 'Web requests of all applications of an account.',
          unit: 'reqps',
        },
        [[recordedPerAccount('web_requests_per_second:sum'), '{{account}}']],
        6,
      ).min(0),
    )
    .withPanel(
      lines(
        {
          title: 'Response time by account',
          description: 'Mean over all web requests of an account, queueing included.',
          unit: 's',
        },
        [[recordedPerAccount('response_time_seconds:mean'), '{{account}}']],
        6,
      ).min(0),
    )
    .withPanel(
      lines(
        {
          title: 'Error ratio by account',
          description: 'Errors of all applications of an account over all their requests.',
          unit: 'percentunit',
        },
        [[recordedPerAccount('errors_per_request:ratio'), '{{account}}']],
        6,
      ).min(0),
    )
    .withPanel(
      lines(
        {
          title: 'Apdex by account',
          description: 'Over all requests of an account, each judged by the threshold of its own application.',
          unit: 'short',
        },
        [[recordedPerAccount('apdex_score:mean'), '{{account}}']],
        6,
      )
        .min(0)
        .max(1),
    )
    .withRow(new RowBuilder('Who stands out'))
    .withPanel(
      lines({ title: 'Slowest', description: 'The ten longest response times, queueing included.', unit: 's' }, [
        [`topk(10, ${each('response_time_seconds')})`, NAME],
      ]),
    )
    .withPanel(
      lines({ title: 'Busiest', description: 'The ten with the most web requests.', unit: 'reqps' }, [
        [`topk(10, ${each('web_requests_per_second')})`, NAME],
      ]),
    )
    .withPanel(
      lines(
        {
          title: 'Most errors',
          description: 'The ten highest error ratios, of applications with more than 0.02 errors a second.',
          unit: 'percentunit',
        },
        [[`topk(10, ${each('error_ratio')} and ${each('errors_per_second')} > 0.02)`, NAME]],
      ).min(0),
    )
    .withPanel(
      lines({ title: 'Lowest Apdex', description: 'The ten lowest Apdex scores.', unit: 'short' }, [
        [`bottomk(10, ${each('apdex_score')})`, NAME],
      ])
        .min(0)
        .max(1),
    )
    .build();
}

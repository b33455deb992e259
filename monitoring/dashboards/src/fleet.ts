import { RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import type { ClassicDashboard } from './frame.ts';
import { APPLICATION_ADDRESS, frame } from './frame.ts';
import { APDEX_COLUMN, ERROR_COLUMN, HEALTH_COLUMN, columnLink, lines, stat, steps, table } from './panels.ts';
import { APP, by, healthRank, select } from './selectors.ts';
import { accountOfApplications, application, datasource, jobAndInstance } from './variables.ts';

const IDS = ['account', 'app', 'app_id'];
const NAME = '{{app}} ({{account}})';

const each = (family: string): string => by(IDS, select(`newrelic_application_${family}`, APP));
const health = healthRank('newrelic_application_health_status', APP, IDS);

/** All applications at a glance, with the way to each. */
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
          description: 'Applications that New Relic lists for the chosen accounts.',
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
        [[`sum(${each('web_requests_per_second')})`, 'web']],
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
            `sum(${each('response_time_seconds')} * ${each('web_requests_per_second')}) / ` +
              `sum(${each('web_requests_per_second')} and ${each('response_time_seconds')})`,
            'response time',
          ],
        ],
      ),
    )
    .withPanel(
      stat({ title: 'Errors', description: 'Errors of all chosen applications per second.', unit: 'cps' }, [
        [`sum(${each('errors_per_second')})`, 'errors'],
      ]),
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
      lines({ title: 'Most errors', description: 'The ten highest error ratios.', unit: 'percentunit' }, [
        [`topk(10, ${each('error_ratio')})`, NAME],
      ]).min(0),
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

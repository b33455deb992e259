import type { VariableModel } from '@grafana/grafana-foundation-sdk/dashboard';
import { DashboardBuilder, DashboardCursorSync } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import { dashboardLink } from './panels.ts';

export const UIDS = {
  fleet: 'newrelic-apm-fleet',
  application: 'newrelic-apm-application',
  host: 'newrelic-apm-host',
  entities: 'newrelic-apm-entities',
  queries: 'newrelic-apm-queries',
  exporter: 'newrelic-apm-exporter',
} as const;

const TITLES = {
  fleet: 'New Relic APM / Fleet',
  application: 'New Relic APM / Application',
  host: 'New Relic APM / Host',
  entities: 'New Relic APM / Entities',
  queries: 'New Relic APM / Queries',
  exporter: 'New Relic APM / Exporter',
} as const;

type Which = keyof typeof UIDS;

/** A dashboard in the classic schema. Every maintained Grafana imports and provisions it from a file. */
export type ClassicDashboard = ReturnType<DashboardBuilder['build']>;

/** Builds a dashboard without panels: name, variables, and links to the other dashboards. */
export function frame(which: Which, description: string, variables: Builder<VariableModel>[]): DashboardBuilder {
  const others = (Object.keys(UIDS) as Which[]).filter((other) => other !== which);
  return new DashboardBuilder(TITLES[which])
    .uid(UIDS[which])
    .description(description)
    .tags(['newrelic-apm'])
    .readonly()
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: 'now-3h', to: 'now' })
    .refresh('1m')
    .timezone('browser')
    .variables(variables)
    .links(others.map((other) => dashboardLink(TITLES[other].replace('New Relic APM / ', ''), UIDS[other])));
}

/** Link from a table with the columns `account` and `app_id` to the dashboard of an application. */
export const APPLICATION_ADDRESS =
  `/d/${UIDS.application}?\${datasource:queryparam}&\${job:queryparam}&\${instance:queryparam}` +
  '&var-account=${__data.fields.account}&var-app=${__data.fields.app_id}&${__url_time_range}';

/** Link from a table with the column `host_id`, on a dashboard with the variable `app`, to the dashboard of a host. */
export const HOST_ADDRESS =
  `/d/${UIDS.host}?\${datasource:queryparam}&\${job:queryparam}&\${instance:queryparam}&\${account:queryparam}` +
  '&${app:queryparam}&var-host=${__data.fields.host_id}&${__url_time_range}';

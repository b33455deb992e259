// The dashboards, alerts and recording rules of this project as a monitoring mixin (https://monitoring.mixins.dev): thin,
// over the files beside it, so that there is one source. docs/dashboards.md says how to use it.
local rules = import 'rules.json';

{
  grafanaDashboardFolder:: 'New Relic APM',
  grafanaDashboards+:: {
    'newrelic-apm-fleet.json': import '../dashboards/fleet.json',
    'newrelic-apm-application.json': import '../dashboards/application.json',
    'newrelic-apm-host.json': import '../dashboards/host.json',
    'newrelic-apm-entities.json': import '../dashboards/entities.json',
    'newrelic-apm-queries.json': import '../dashboards/queries.json',
    'newrelic-apm-exporter.json': import '../dashboards/exporter.json',
  },
  prometheusAlerts+:: { groups+: rules.alerts },
  prometheusRules+:: { groups+: rules.recording },
}

// The dashboards, alerts and recording rules of this project as a monitoring mixin (https://monitoring.mixins.dev): thin,
// over the files beside it, so that there is one source. docs/dashboards.md says how to use it.
local rules = import 'rules.json';

local runbooks = 'https://github.com/newrelic-apm-exporter/newrelic-apm-exporter/blob/main/docs/alerts.md';

{
  _config+:: {
    // Where Grafana is, such as https://grafana.example: the links of alerts to dashboards begin so.
    dashboardUrl: '',
    // The page with a section for each alert, whose name in lower case is the anchor.
    runbookUrl: runbooks,
    // Whether the rules and alerts of service levels are there, for accounts with counters.
    serviceLevels: false,
  },

  local dashboardUrl = std.rstripChars($._config.dashboardUrl, '/'),
  local withRunbooks(text) = std.strReplace(text, runbooks, $._config.runbookUrl),
  local withLinks(rule) = rule + if std.objectHas(rule, 'record') then {} else {
    annotations+: {
      dashboard_url: dashboardUrl + super.dashboard_url,
      runbook_url: withRunbooks(super.runbook_url),
    },
  },

  grafanaDashboardFolder:: 'New Relic APM',
  grafanaDashboards+:: {
    'newrelic-apm-fleet.json': std.parseJson(withRunbooks(importstr '../dashboards/fleet.json')),
    'newrelic-apm-application.json': import '../dashboards/application.json',
    'newrelic-apm-host.json': import '../dashboards/host.json',
    'newrelic-apm-entities.json': import '../dashboards/entities.json',
    'newrelic-apm-queries.json': import '../dashboards/queries.json',
    'newrelic-apm-exporter.json': import '../dashboards/exporter.json',
  },
  local alerts = rules.alerts + if $._config.serviceLevels then rules.serviceLevels else [],
  prometheusAlerts+:: { groups+: [group { rules: std.map(withLinks, group.rules) } for group in alerts] },
  prometheusRules+:: { groups+: rules.recording },
}

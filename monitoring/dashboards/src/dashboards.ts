import type { ClassicDashboard } from './frame.ts';
import { applicationDashboard } from './application.ts';
import { entitiesDashboard } from './entities.ts';
import { exporterDashboard } from './exporter.ts';
import { fleetDashboard } from './fleet.ts';
import { hostDashboard } from './host.ts';
import { queriesDashboard } from './queries.ts';
import { IMPORTED_DATASOURCE } from './variables.ts';

/** A file that is generated and committed; the path is relative to the repository. */
export interface GeneratedFile {
  readonly path: string;
  readonly content: string;
}

/** The oldest Grafana whose schema the dashboards need. */
const GRAFANA = '11.0.0';

const PANELS: Readonly<Record<string, string>> = { stat: 'Stat', table: 'Table', timeseries: 'Time series' };

/** The committed files of the dashboards. */
export function dashboards(): GeneratedFile[] {
  const built: Readonly<Record<string, ClassicDashboard>> = {
    fleet: fleetDashboard(),
    application: applicationDashboard(),
    host: hostDashboard(),
    entities: entitiesDashboard(),
    queries: queriesDashboard(),
    exporter: exporterDashboard(),
  };
  return Object.entries(built).map(([name, dashboard]) => ({
    path: `monitoring/dashboards/${name}.json`,
    content: `${JSON.stringify({ ...neededToImport(dashboard), ...dashboard }, asTheSchema, 2)}\n`,
  }));
}

/** What Grafana asks for when the file is imported by hand, and what it must have to show it. */
function neededToImport({ panels = [] }: ClassicDashboard): object {
  const used = new Set(panels.map(({ type }) => type));
  const inputs = [
    {
      name: IMPORTED_DATASOURCE,
      label: 'Prometheus',
      description: 'The Prometheus that scrapes newrelic-apm-exporter',
      type: 'datasource',
      pluginId: 'prometheus',
      pluginName: 'Prometheus',
    },
  ];
  const requires = [
    { type: 'grafana', id: 'grafana', name: 'Grafana', version: GRAFANA },
    { type: 'datasource', id: 'prometheus', name: 'Prometheus', version: '1.0.0' },
    ...Object.entries(PANELS)
      .filter(([id]) => used.has(id))
      .map(([id, name]) => ({ type: 'panel', id, name, version: '' })),
  ];
  return { __inputs: inputs, __elements: {}, __requires: requires };
}

/** Leaves out what the SDK writes and Grafana's schema does not have: settings of other kinds of variables, an old footer. */
function asTheSchema(this: unknown, key: string, value: unknown): unknown {
  return ['auto', 'auto_min', 'auto_count', 'footer'].includes(key) ? undefined : value;
}

import type { ClassicDashboard } from './frame.ts';
import { applicationDashboard } from './application.ts';
import { entitiesDashboard } from './entities.ts';
import { exporterDashboard } from './exporter.ts';
import { fleetDashboard } from './fleet.ts';
import { hostDashboard } from './host.ts';
import { queriesDashboard } from './queries.ts';
import { IMPORTED_DATASOURCE } from './variables.ts';

/** A generated file in the repository. The path is relative to the repository. */
export interface GeneratedFile {
  readonly path: string;
  readonly content: string;
}

/** The oldest Grafana that supports the schema of the dashboards. */
const GRAFANA = '11.0.0';

const PANELS: Readonly<Record<string, string>> = { stat: 'Stat', table: 'Table', timeseries: 'Time series' };

/** Builds the files of the dashboards. */
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
    content: `${JSON.stringify({ ...describeImport(dashboard), ...dashboard }, skipUnknownKeys, 2)}\n`,
  }));
}

/** Returns what Grafana asks for at an import by hand, and what it needs to show the dashboard. */
function describeImport({ panels = [] }: ClassicDashboard): object {
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

/**
 * Skips keys that the SDK writes and the schema of Grafana does not have: settings of other variables, an old footer.
 */
function skipUnknownKeys(this: unknown, key: string, value: unknown): unknown {
  return ['auto', 'auto_min', 'auto_count', 'footer'].includes(key) ? undefined : value;
}

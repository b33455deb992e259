import type { ClassicDashboard } from './frame.ts';
import { applicationDashboard } from './application.ts';
import { exporterDashboard } from './exporter.ts';
import { fleetDashboard } from './fleet.ts';
import { hostDashboard } from './host.ts';

/** A file that is generated and committed; the path is relative to the repository. */
export interface GeneratedFile {
  readonly path: string;
  readonly content: string;
}

/** Every dashboard by its file name, without the ending. */
export function builtDashboards(): ReadonlyMap<string, ClassicDashboard> {
  return new Map([
    ['fleet', fleetDashboard()],
    ['application', applicationDashboard()],
    ['host', hostDashboard()],
    ['exporter', exporterDashboard()],
  ]);
}

/** The committed files of the dashboards. */
export function dashboards(): GeneratedFile[] {
  return [...builtDashboards()].map(([name, dashboard]) => ({
    path: `monitoring/dashboards/${name}.json`,
    content: `${JSON.stringify(dashboard, null, 2)}\n`,
  }));
}

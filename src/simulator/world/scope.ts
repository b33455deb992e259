import type { ApplicationIdentity, InstanceIdentity } from './identity.ts';
import type { MetricDefinition } from './metrics.ts';

/** What figures are asked for: a whole application, one of its hosts, or one of its instances. */
export interface Scope {
  readonly level: 'application' | 'host' | 'instance';
  readonly application: ApplicationIdentity;
  /** The instances whose records are added up. */
  readonly instances: readonly InstanceIdentity[];
  /** How many instances the application has in all. */
  readonly instancesOfApplication: number;
}

/**
 * Whether a metric can be read in a scope. `documented` follows the vendor's metric lists, where components,
 * queue time and total time are the application's alone; `all` answers for hosts whatever their agents report.
 */
export type HostMetrics = 'documented' | 'all';

export function isAvailable(definition: MetricDefinition, level: Scope['level'], hostMetrics: HostMetrics): boolean {
  if (level === 'application' || definition.reach === 'everywhere') return true;
  return definition.reach === 'agent' && hostMetrics === 'all';
}

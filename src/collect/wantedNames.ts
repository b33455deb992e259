import type { CustomMatches } from '../metrics/customFamilies.ts';
import type { Scope } from '../metrics/family.ts';
import { queryNames } from '../metrics/window.ts';
import type { AccountContext } from './context.ts';
import { customOf } from './reading.ts';
import type { ApplicationRecord } from './records.ts';

interface Remembered {
  readonly matches: CustomMatches['matches'];
  readonly names: readonly string[];
}

const NO_DATASTORES: readonly string[] = [];

/** By scope and list of datastores: an application's hosts all ask for the same, refresh after refresh. */
const remembered: Readonly<Record<Scope, WeakMap<readonly string[], Remembered>>> = {
  application: new WeakMap(),
  host: new WeakMap(),
};

/**
 * Every metric name to ask for about an application, or each of its hosts, each once. The same list as long as it holds
 * the same.
 */
export function wantedNames(
  { customMetrics }: AccountContext,
  record: ApplicationRecord,
  scope: Scope,
): readonly string[] {
  const datastores = record.units?.names.held?.value ?? NO_DATASTORES;
  const { matches } = customOf(customMetrics, record, scope);
  const before = remembered[scope].get(datastores);
  if (before?.matches === matches) return before.names;
  const names = [...new Set([...queryNames(datastores), ...matches.map(({ metricName }) => metricName)])];
  remembered[scope].set(datastores, { matches, names });
  return names;
}

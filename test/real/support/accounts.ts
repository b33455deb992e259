import { account } from '../../e2e/support/config.ts';
import type { Interface } from '../incidents/fleet.ts';

/** An account of a configuration file that reads a simulator through the given interface of it. */
export function accountBy(
  by: Interface,
  simulator: { readonly url: string },
  settings: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  if (by === 'rest') return account(simulator, 'default', settings);
  const base = new URL('/graphql', simulator.url).href;
  return account(simulator, 'default', { api: 'nerdgraph', base_url: base, ...settings });
}

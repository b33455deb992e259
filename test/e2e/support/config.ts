import { stringify } from 'yaml';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';

/** A configuration file as a value. */
export interface ConfigInput {
  readonly accounts: readonly Readonly<Record<string, unknown>>[];
  readonly collection?: Readonly<Record<string, unknown>>;
}

export function configText(config: ConfigInput | string): string {
  return typeof config === 'string' ? config : stringify(config);
}

/** An account that reads a simulator through REST. */
export function account(
  upstream: { readonly url: string },
  name = 'default',
  settings: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return { name, api: 'rest', base_url: upstream.url, api_key: DEMO_API_KEY, ...settings };
}

/** The account id that simulators answer for. */
export const ACCOUNT_ID = 1_234_567;

/** An account that reads a simulator through NerdGraph. */
export function nerdGraphAccount(
  upstream: { readonly url: string },
  name = 'default',
  settings: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const nerdGraph = { api: 'nerdgraph', account_id: ACCOUNT_ID, base_url: `${upstream.url}/graphql` };
  return account(upstream, name, { ...nerdGraph, ...settings });
}

/** An account that reads a simulator through the given interface of it. */
export function accountBy(
  by: 'rest' | 'nerdgraph',
  upstream: { readonly url: string },
  settings: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return (by === 'rest' ? account : nerdGraphAccount)(upstream, 'default', settings);
}

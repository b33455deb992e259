import { configFromEnvironment, hasEnvironmentKey } from './environment.ts';
import type { Fault } from './fault.ts';
import type { Environment } from './placeholders.ts';
import { readConfig } from './load.ts';
import type { ConfigResult } from './load.ts';

export const DEFAULT_CONFIG_FILE = 'config.yaml';

/** Where a configuration comes from. */
export type ConfigOrigin = { readonly kind: 'file'; readonly path: string } | { readonly kind: 'environment' };

export interface FindOptions {
  /** The value of `--config.file`; undefined when it is not given. */
  readonly flag: string | undefined;
  readonly exists: (path: string) => boolean;
  readonly env: Environment;
}

/**
 * Where to read the configuration from: the file that is named, which must exist; else config.yaml where
 * there is one; else the environment; else there is no configuration, and the fault says what to do.
 */
export function findConfig(
  options: FindOptions,
): { readonly origin: ConfigOrigin } | { readonly faults: readonly Fault[] } {
  const { flag, exists, env } = options;
  if (flag !== undefined) return { origin: { kind: 'file', path: flag } };
  if (exists(DEFAULT_CONFIG_FILE)) return { origin: { kind: 'file', path: DEFAULT_CONFIG_FILE } };
  if (hasEnvironmentKey(env)) return { origin: { kind: 'environment' } };
  const message =
    'there is no such file, and neither NEW_RELIC_API_KEY nor NEW_RELIC_API_KEY_FILE is set: write the file ' +
    '(config.example.yaml shows every key), name another with --config.file, or set one of the two';
  return { faults: [{ file: DEFAULT_CONFIG_FILE, line: undefined, column: undefined, path: '', message }] };
}

/** Reads the configuration from where it was found; a reload calls it again with the same origin. */
export function readFrom(origin: ConfigOrigin, env: Environment): Promise<ConfigResult> {
  return origin.kind === 'file' ? readConfig(origin.path, env) : Promise.resolve(configFromEnvironment(env));
}

/** For the one log line that says what the program runs with. */
export function describeOrigin(origin: ConfigOrigin): string {
  return origin.kind === 'file'
    ? `configuration from ${origin.path}`
    : 'no configuration file: one account named "default" from the environment variables, all else by default';
}

import { formatDiagnostic } from '../../src/config/diagnostic.ts';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Environment } from '../../src/config/yaml/placeholders.ts';

/** The faults of a text as they are printed; none when it is valid. */
export function faultsOf(text: string, env: Environment = {}): string[] {
  const result = loadConfig({ path: 'c.yaml', text }, env);
  return 'diagnostics' in result ? result.diagnostics.map(formatDiagnostic) : [];
}

/** The configuration of a text that must be valid. */
export function configOf(text: string, env: Environment = {}): Config {
  const result = loadConfig({ path: 'c.yaml', text }, env);
  if ('diagnostics' in result) throw new Error(result.diagnostics.map(formatDiagnostic).join('\n'));
  return result.config;
}

/** The smallest valid file, in one line, with more keys of its account, and more lines after it. */
export function withAccount(keys = '', more = ''): string {
  return `accounts: [{api_key: abcd${keys === '' ? '' : `, ${keys}`}}]\n${more}`;
}

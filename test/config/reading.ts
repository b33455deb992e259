import { readFileSync } from 'node:fs';
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

/** The text of config.example.yaml with its other lines in use, which replace the lines that they exclude. */
export function exampleInUse(): string {
  return readFileSync(new URL('../../config.example.yaml', import.meta.url), 'utf8')
    .replace(
      /^ *(region|api_key|labels|exclude|settings|tags|key_transactions|custom_metrics|entities|queries|query_files|query_packs): .*\n/gm,
      '',
    )
    .replace(/^( *)#(?=[^ \n#]|  )/gm, '$1');
}

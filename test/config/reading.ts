import { readFileSync } from 'node:fs';
import { formatDiagnostic } from '../../src/config/diagnostic.ts';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Environment } from '../../src/config/yaml/placeholders.ts';

/** The printed faults of a text; empty when it is valid. */
export function faultsOf(text: string, env: Environment = {}): string[] {
  const result = loadConfig({ path: 'c.yaml', text }, env);
  return 'diagnostics' in result ? result.diagnostics.map(formatDiagnostic) : [];
}

/** The configuration in a text. Throws for an invalid text. */
export function configOf(text: string, env: Environment = {}): Config {
  const result = loadConfig({ path: 'c.yaml', text }, env);
  if ('diagnostics' in result) throw new Error(result.diagnostics.map(formatDiagnostic).join('\n'));
  return result.config;
}

/** The smallest valid file, in one line, with further keys of its account and further lines. */
export function withAccount(keys = '', more = ''): string {
  return `accounts: [{api_key: abcd${keys === '' ? '' : `, ${keys}`}}]\n${more}`;
}

/** The text of config.example.yaml with its commented lines in use. They replace the lines that exclude them. */
export function exampleInUse(): string {
  return readFileSync(new URL('../../config.example.yaml', import.meta.url), 'utf8')
    .replace(
      /^ *(region|api_key|labels|exclude|settings|tags|key_transactions|custom_metrics|entities|queries|query_files|query_packs): .*\n/gm,
      '',
    )
    .replace(/^( *)#(?=[^ \n#]|  )/gm, '$1');
}

import { stringify } from 'yaml';
import * as z from 'zod';
import type { Config } from './config.ts';
import { escapePlaceholders } from './placeholders.ts';
import { fileSchema } from './schema/file.ts';

const REDACTED = '<secret>';

/** The running configuration as YAML for people (the page `/config`), in the form of the file, without its secrets. */
export function redactConfig(config: Config): string {
  const accounts = config.accounts.map((account) => ({
    ...account,
    api_key: account.api_key === undefined ? undefined : REDACTED,
  }));
  const file = z.encode(fileSchema, { ...config, accounts });
  return stringify(escapeTexts(file), { lineWidth: 0 });
}

/** Texts with `${` in them must not become placeholders when the page is used as a file. */
function escapeTexts(value: unknown): unknown {
  if (typeof value === 'string') return escapePlaceholders(value);
  if (Array.isArray(value)) return value.map(escapeTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, escapeTexts(inner)]));
}

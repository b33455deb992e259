import { stringify } from 'yaml';
import type { AccountConfig, CollectionConfig, Config } from './config.ts';
import { formatDuration } from './duration.ts';
import { escapePlaceholders } from './placeholders.ts';

export const REDACTED = '<secret>';

/** The running configuration as YAML for people (the page `/config`), in the form of the file, without its secrets. */
export function redactConfig(config: Config): string {
  const file = { accounts: config.accounts.map(showAccount), collection: showCollection(config.collection) };
  return stringify(escapeTexts(file), { lineWidth: 0, aliasDuplicateObjects: false });
}

function showAccount(account: AccountConfig): Record<string, unknown> {
  const { name, region, base_url, api_key, limits, ...rest } = account;
  return {
    name,
    ...(region === undefined ? { base_url } : { region }),
    api_key: api_key === undefined ? undefined : REDACTED,
    ...rest,
    limits: { ...limits, request_timeout: formatDuration(limits.request_timeout) },
  };
}

function showCollection(collection: CollectionConfig): Record<string, unknown> {
  const { intervals, ...rest } = collection;
  return {
    ...rest,
    window: formatDuration(rest.window),
    delay: formatDuration(rest.delay),
    scrape_timeout_offset: formatDuration(rest.scrape_timeout_offset),
    default_scrape_timeout: formatDuration(rest.default_scrape_timeout),
    max_age: formatDuration(rest.max_age),
    intervals: Object.fromEntries(Object.entries(intervals).map(([group, value]) => [group, formatDuration(value)])),
  };
}

/** Texts with `${` in them must not become placeholders when the page is used as a file. */
function escapeTexts(value: unknown): unknown {
  if (typeof value === 'string') return escapePlaceholders(value);
  if (Array.isArray(value)) return value.map(escapeTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, escapeTexts(inner)]));
}

import * as z from 'zod';
import { stringify } from 'yaml';
import type { Group } from '../../reads/reads.ts';
import { duration, notes, whole, list } from './parts.ts';
import { beginWith } from '../schemaIssues.ts';
import { account } from './account.ts';
import { escapePlaceholders } from '../yaml/placeholders.ts';

const interval = (preset: string, description: string, max?: string) =>
  notes(duration({ min: '1s', ...(max === undefined ? {} : { max }) }).prefault(preset), { description });

/** Queries and types of entities have their own intervals; custom metrics are read with their scope. */
const intervals = z.strictObject({
  applications: interval('1m', 'The application list with its rolling summaries.'),
  key_transactions: interval('1m', 'The key transaction list with its rolling summaries.'),
  application_metrics: interval('1m', 'Metric data of each application.'),
  host_metrics: interval('1m', 'Metric data of each host.'),
  hosts: interval('5m', 'Host lists with their rolling summaries.'),
  instances: interval('5m', 'Instance lists with their rolling summaries.'),
  metric_names: interval('6h', 'Metric name lists: database types, and names for custom metrics.'),
  counters: interval('1m', 'Counters of each application; a longer interval loses nothing.', '30m'),
  entities: interval('5m', 'Lists of entities, with the definitions of their golden metrics.'),
  accounts: interval('10m', 'Lists of accounts (`account_ids`); this is no group.'),
} satisfies Record<Exclude<Group, 'custom_metrics' | 'golden_metrics' | 'queries'> | 'accounts', unknown>);

export const collection = z.strictObject({
  window: notes(duration({ min: '1m', wholeMinutes: true }).prefault('5m'), {
    description: 'Time range of metric data, in whole minutes. Averages and rates are over this time.',
  }),
  delay: notes(duration({ min: '0s' }).prefault('2m'), {
    description:
      "How far the window lags behind now (rounded down to the minute), so that New Relic's data is complete.",
  }),
  scrape_timeout_offset: notes(duration({ min: '0s' }).prefault('500ms'), {
    description: 'A scrape is answered this much before the scraper gives up.',
  }),
  default_scrape_timeout: notes(duration({ min: '1ms' }).prefault('10s'), {
    description: 'The timeout to assume when the scraper does not say its own.',
  }),
  max_age: notes(duration({ min: '0s' }).prefault('5m'), {
    description: 'The last good values are served this long past the time their refresh was due, then they are absent.',
  }),
  raw_values: notes(z.boolean().default(false), {
    description: 'Asks New Relic for values that are not rounded to three digits (`raw=true`).',
  }),
  background: notes(z.boolean().default(false), {
    description: 'Refreshes at the start and on a timer instead of on a scrape.',
  }),
  intervals: notes(intervals.prefault({}), {
    description:
      'Minimum time between two refreshes of each group. Whole minutes are counted in windows, any other interval by ' +
      'the clock.',
  }),
  max_series: notes(whole(1).default(500_000), {
    description:
      'Most series in one exposition. Where there are more, whole families are left out, the largest first; they are counted and logged.',
  }),
});

/** The schema of the file; `z.encode` turns a configuration back into a file. Rules between keys are in rules.ts. */
export const fileSchema = z.strictObject(
  {
    accounts: notes(list(account, 1), { description: 'The accounts to read, each with its key.' }),
    collection: notes(collection.prefault({}), { description: 'How the data are collected, for all accounts alike.' }),
  },
  { error: beginWith('accounts') },
);

const REDACTED = '<secret>';

/** The running configuration in the form of the file, without its keys. */
export function redactConfig(config: z.output<typeof fileSchema>): string {
  const accounts = config.accounts.map((account) => ({
    ...account,
    api_key: account.api_key === undefined ? undefined : REDACTED,
  }));
  const file = z.encode(fileSchema, { ...config, accounts });
  // Texts with `${` in them must not become placeholders when the page is used as a file.
  const escaped = (_key: unknown, value: unknown) => (typeof value === 'string' ? escapePlaceholders(value) : value);
  return stringify(file, escaped, { lineWidth: 0 });
}

import * as z from 'zod';
import { stringify } from 'yaml';
import type { Group } from '../../reads/reads.ts';
import { duration, notes, whole, list } from './parts.ts';
import { expectMapping } from '../schemaIssues.ts';
import { account } from './account.ts';
import { escapePlaceholders } from '../yaml/placeholders.ts';

const interval = (preset: string, description: string, max?: string) =>
  notes(duration({ min: '1s', ...(max === undefined ? {} : { max }) }).prefault(preset), { description });

/** Queries and types of entities have their own intervals. Custom metrics use the interval of their scope. */
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
  accounts: interval('10m', 'Lists of accounts (`account_ids`); not a group.'),
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
    description: 'The exporter answers this long before the scrape times out.',
  }),
  default_scrape_timeout: notes(duration({ min: '1ms' }).prefault('10s'), {
    description: 'Scrape timeout to assume when the scraper sends none.',
  }),
  max_age: notes(duration({ min: '0s' }).prefault('5m'), {
    description: 'How long the last good values are served after their refresh was due. After that they are absent.',
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
      'Maximum number of series in one exposition. Beyond it the exporter leaves out whole families, the largest first, and ' +
      'counts and logs them.',
  }),
});

/** Schema of the configuration file. rules.ts checks the rules between its keys. */
export const fileSchema = z.strictObject(
  {
    accounts: notes(list(account, 1), { description: 'The accounts to read, each with its key.' }),
    collection: notes(collection.prefault({}), { description: 'How the exporter collects the data of all accounts.' }),
  },
  { error: expectMapping('accounts') },
);

const REDACTED = '<secret>';

/** Returns the running configuration in the form of the file, without API keys. */
export function redactConfig(config: z.output<typeof fileSchema>): string {
  const accounts = config.accounts.map((account) => ({
    ...account,
    api_key: account.api_key === undefined ? undefined : REDACTED,
  }));
  const file = z.encode(fileSchema, { ...config, accounts });
  // Escape `${`, so that the output is a valid configuration file.
  const escaped = (_key: unknown, value: unknown) => (typeof value === 'string' ? escapePlaceholders(value) : value);
  return stringify(file, escaped, { lineWidth: 0 });
}

import * as z from 'zod';
import type { TimedGroup } from '../../metrics/groups.ts';
import { duration, notes, whole } from './parts.ts';

const interval = (preset: string, description: string) =>
  notes(duration({ least: '1s' }).prefault(preset), { description });

const intervals = z.strictObject({
  applications: interval('1m', 'The application list with its rolling summaries.'),
  key_transactions: interval('1m', 'The key transaction list with its rolling summaries.'),
  application_metrics: interval('1m', 'Metric data of each application.'),
  host_metrics: interval('1m', 'Metric data of each host.'),
  hosts: interval('5m', 'Host lists with their rolling summaries.'),
  instances: interval('5m', 'Instance lists with their rolling summaries.'),
  metric_names: interval('6h', 'Metric name lists: database types, and names for custom metrics.'),
} satisfies Record<TimedGroup, unknown>);

/** What holds for all accounts. */
export const collection = z.strictObject({
  window: notes(duration({ least: '1m', wholeMinutes: true }).prefault('30m'), {
    description: 'Time range of metric data, in whole minutes. Averages and rates are over this time.',
  }),
  delay: notes(duration({ least: '0s' }).prefault('2m'), {
    description: 'The time range ends this long ago, cut to the minute: upstream needs it to have its data complete.',
  }),
  scrape_timeout_offset: notes(duration({ least: '0s' }).prefault('500ms'), {
    description: 'A scrape is answered this much before the scraper gives up.',
  }),
  default_scrape_timeout: notes(duration({ least: '1ms' }).prefault('10s'), {
    description: 'The timeout to assume when the scraper does not say its own.',
  }),
  max_age: notes(duration({ least: '0s' }).prefault('5m'), {
    description: 'The last good values are served this long past the time their refresh was due, then they are absent.',
  }),
  raw_values: notes(z.boolean().default(false), {
    description: 'Asks upstream for values that are not rounded to three digits (`raw=true`).',
  }),
  background: notes(z.boolean().default(false), {
    description: 'Refreshes at the start and on a timer instead of on a scrape.',
  }),
  intervals: notes(intervals.prefault({}), {
    description:
      'How often each group of data is refreshed at most. Whole minutes are counted in windows, any other interval by ' +
      'the clock.',
  }),
  max_series: notes(whole(1).default(500_000), {
    description:
      'Most series in one answer. Where there are more, whole families are left out, the largest first; they are counted and logged.',
  }),
});

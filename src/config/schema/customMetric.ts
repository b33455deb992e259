import * as z from 'zod';
import { BUILT_IN_NAMES } from '../../metrics/catalogue.ts';
import { parseTemplate, TemplateError } from '../../metrics/customMetrics.ts';
import { notes, scale, text, textWithout, whole } from './parts.ts';

const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
/** Suffixes of other types than gauge. Custom metrics are gauges. */
const TYPE_SUFFIXES = ['_total', '_bucket', '_count', '_sum', '_info'];
const PROMETHEUS_PREFIXES = ['__', 'scrape_', 'ALERTS'];
const RESERVED_PREFIXES = ['newrelic_exporter_', 'process_', 'nodejs_'];

export const customMetric = z.strictObject({
  name: notes(textWithout(findNameProblem), {
    description:
      'Name of the family, a gauge: a valid metric name without colon. It must not end in `_total`, `_bucket`, `_count`, ' +
      '`_sum` or `_info`, and must not be a name of the exporter or of Prometheus.',
    placeholder: '<metric_name>',
    example: 'newrelic_custom_queue_depth',
  }),
  help: notes(text().default('Custom metric; the configuration gives no help text.'), {
    description: 'HELP text of the family.',
    example: 'Jobs waiting in each queue',
  }),
  match: notes(textWithout(findTemplateProblem), {
    description:
      'Which metrics: `{label}` captures one path segment as a label, `*` matches one, `**` the rest. It must have a ' +
      'literal part of at least three characters, which narrows the metric name list that is read.',
    placeholder: '<template>',
    example: 'Custom/Queue/{queue}/depth',
  }),
  value: notes(text(), {
    description: 'Name of the value within the metric (docs/metrics.md lists them).',
    placeholder: '<value_name>',
    example: 'average_value',
  }),
  scale: scale(),
  scope: notes(z.enum(['application', 'host']).default('application'), {
    description:
      'Whether the value is read for each application or for each host. A family cannot have both, because a sum would ' +
      'count everything twice.',
  }),
  max_series: notes(whole(1).default(100), {
    description: 'Maximum number of series of this metric per application; the exporter counts dropped series.',
  }),
});

function findTemplateProblem(match: string): string | undefined {
  try {
    parseTemplate(match);
    return undefined;
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return error.message;
  }
}

/** Returns why a text cannot be the name of a user-defined family; undefined for a valid name. */
export function findNameProblem(name: string): string | undefined {
  if (!METRIC_NAME.test(name)) return 'is not a metric name: use letters, digits and _, no digit first';
  if (name.includes(':')) return 'must not have a colon: Prometheus keeps it for the names of recording rules';
  const suffix = TYPE_SUFFIXES.find((end) => name.endsWith(end));
  if (suffix !== undefined) return `must not end in ${suffix}, which says another type than gauge: choose another name`;
  if (name === 'up' || PROMETHEUS_PREFIXES.some((prefix) => name.startsWith(prefix))) {
    return 'is a name that Prometheus uses itself: choose another name';
  }
  // OpenMetrics names a counter without its suffix `_total`.
  const isTaken = BUILT_IN_NAMES.has(name) || BUILT_IN_NAMES.has(`${name}_total`);
  const isReserved = isTaken || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix));
  return isReserved ? 'is a family of the exporter itself: choose another name' : undefined;
}

import * as z from 'zod';
import { BUILT_IN_NAMES } from '../../metrics/catalogue.ts';
import { parseTemplate, TemplateError } from '../../metrics/template.ts';
import { notes, text, whole } from './parts.ts';

const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const RESERVED_PREFIXES = ['newrelic_exporter_', 'process_', 'nodejs_'];

/** A family of the user's own, made from the metrics whose names fit a template (contract 6). */
export const customMetric = z.strictObject({
  name: notes(
    text().superRefine((name, ctx) => {
      if (!METRIC_NAME.test(name)) ctx.addIssue('is not a metric name: use letters, digits, _ and :, no digit first');
      else if (isTaken(name)) ctx.addIssue(`"${name}" is a family of the exporter itself: choose another name`);
    }),
    {
      description: 'Name of the family: a valid metric name that is not one of the families of the exporter.',
      placeholder: '<metric_name>',
      example: 'newrelic_custom_queue_depth',
    },
  ),
  help: notes(text().default('Custom metric; the configuration gives no help text.'), {
    description: 'HELP text of the family.',
    example: 'Jobs waiting in each queue',
  }),
  match: notes(
    text().superRefine((match, ctx) => {
      try {
        parseTemplate(match);
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        ctx.addIssue(error.message);
      }
    }),
    {
      description:
        'Which metrics: `{label}` captures one path segment as a label, `*` matches one, `**` the rest. It must have a ' +
        'literal part of at least three characters, which narrows the metric name list that is read.',
      placeholder: '<template>',
      example: 'Custom/Queue/{queue}/depth',
    },
  ),
  value: notes(text(), {
    description: 'Name of the value within the metric.',
    placeholder: '<value_name>',
    example: 'average_value',
  }),
  scale: notes(
    z
      .number()
      .refine((scale) => scale !== 0, 'must not be 0')
      .default(1),
    { description: 'Multiplied into the value, for instance to get to base units.' },
  ),
  scope: notes(z.enum(['application', 'host']).default('application'), {
    description: 'Whose value it is. One family has one scope, so that sums stay true.',
  }),
  max_series: notes(whole(1).default(100), {
    description: 'Series of this metric per application; what is cut is counted.',
  }),
});

function isTaken(name: string): boolean {
  // OpenMetrics knows a counter by its name without the suffix.
  return (
    BUILT_IN_NAMES.has(name) ||
    BUILT_IN_NAMES.has(`${name}_total`) ||
    RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix))
  );
}

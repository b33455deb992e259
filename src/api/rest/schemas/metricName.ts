import * as z from 'zod';
import type { MetricName } from '../../types.ts';
import { text, texts } from '../../records/fields.ts';

/** An entry of the metric name list with the names of its values. */
export const metricName = z
  .object({ name: text, values: texts.optional() })
  .transform(({ name, values }): MetricName => ({ name, values: values ?? [] }));

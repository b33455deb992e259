import { z } from 'zod';
import type { MetricName } from '../types.ts';
import { text } from './fields.ts';

/** An entry of the metric name list (specification, "Metric name entry"). */
export const metricName = z
  .object({ name: text, values: z.array(z.string()).optional() })
  .transform(({ name, values }): MetricName => ({ name, values: values ?? [] }));

import { RESERVED_LABEL_NAMES } from '../../metrics/labels.ts';
import type { Labels } from '../../metrics/sample.ts';

/** What Prometheus adds when it scrapes: the labels that make a backfilled series the scraped one. */
const TARGET_LABELS = new Set(['job', 'instance']);

/** Adds a `name=value` of `--label` to those before it. Throws an Error whose message is a sentence. */
export function addLabel(text: string, before: Labels): Labels {
  const place = text.indexOf('=');
  const name = text.slice(0, Math.max(0, place));
  const value = text.slice(place + 1);
  if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name) || name.startsWith('__') || value === '') {
    throw new Error('It must be name=value with a label name of Prometheus, such as job=newrelic-apm-exporter.');
  }
  if (RESERVED_LABEL_NAMES.has(name) && !TARGET_LABELS.has(name)) throw new Error(`"${name}" is a label of our own.`);
  if (Object.hasOwn(before, name)) throw new Error(`"${name}" is given twice.`);
  return { ...before, [name]: value };
}

import { databaseMetrics } from '../formulas/databaseKind.ts';
import type { DatabaseChoice } from '../formulas/databaseKind.ts';
import type { MetricWindow, WindowValues } from '../formulas/inputs.ts';
import { METRIC } from '../formulas/names.ts';
import type { Labels } from './sample.ts';

/** A part of the time of web requests that upstream answered and that counts. */
export interface Component extends MetricWindow<'call_count' | 'average_response_time'> {
  readonly labels: Labels;
}

/** Labels that are kept: more than all accounts together have kinds of components. Beyond that, all are made anew. */
const MOST_KEPT = 1_000;

const kept = new Map<string, Labels>();

/** The components of an application or a host, the metrics of the database kind that counts first. */
export function componentsOf(values: WindowValues, database: DatabaseChoice): Component[] {
  const names = [...databaseMetrics(values, database), METRIC.memcache, METRIC.external];
  return names.flatMap((name) => {
    const answered = values.get(name);
    return answered === undefined ? [] : [{ labels: componentLabels(name), ...answered }];
  });
}

/**
 * The labels of a component, from its metric's name without `/all` or `/allWeb`. All samples of a component share one
 * object, because columns are found by it.
 */
export function componentLabels(metricName: string): Labels {
  let labels = kept.get(metricName);
  if (labels === undefined) {
    if (kept.size >= MOST_KEPT) kept.clear();
    labels = { component: metricName.replace(/\/all(?:Web)?$/, '') };
    kept.set(metricName, labels);
  }
  return labels;
}

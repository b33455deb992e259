import type { Labels } from './sample.ts';

/** More kinds of components than all accounts together have; beyond, the memory starts anew. */
const MOST_KEPT = 1_000;

const kept = new Map<string, Labels>();

/**
 * The labels of a component, from its metric's name without `/all` or `/allWeb` (contract 5.4). All samples of a component
 * share one object: there are some for each host, and renderers cache by identity.
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

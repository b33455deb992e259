import { metricNameProblem } from '../../config/schema/customMetric.ts';
import { queryLabelProblem } from '../../config/queries.ts';
import { defaultLabel } from '../../nrql/statement.ts';

/** An item with an id of its own, and a name that others may share. */
interface Identified {
  readonly id: string;
}

const LONGEST_METRIC = 200;
const METRIC_PREFIX = 'newrelic_condition_';

/** Labels of our rules, and labels that rules would overwrite or drop. */
const RULE_LABELS: ReadonlySet<string> = new Set([
  'policy',
  'condition',
  'newrelic_condition_id',
  'alertname',
  'severity',
  'signal',
  'pod',
]);

/**
 * A name for each item, by id: the plain one, or `withId` of it when it is refused, shared with another item or taken.
 *
 * @param isRefused true when the plain name cannot be used
 */
export function uniqueNames<T extends Identified>(
  items: readonly T[],
  plain: (item: T) => string,
  withId: (name: string, id: string) => string,
  taken: Iterable<string> = [],
  isRefused: (name: string) => boolean = () => false,
): ReadonlyMap<string, string> {
  const uses = new Map<string, number>();
  for (const item of items) uses.set(plain(item), (uses.get(plain(item)) ?? 0) + 1);
  const used = new Set([...taken, ...uses.keys()]);
  const reserved = new Set(taken);
  return new Map(
    items.map((item) => {
      let name = plain(item);
      if (uses.get(name) !== 1 || reserved.has(name) || isRefused(name)) {
        do name = withId(name, item.id);
        while (used.has(name));
        used.add(name);
      }
      return [item.id, name];
    }),
  );
}

/** The metric of a condition before it is made unique. */
export function metricOf(policy: string, condition: string): string {
  return `${METRIC_PREFIX}${[slug(policy), slug(condition)].filter((part) => part !== '').join('_')}`;
}

/**
 * True when a result of metricOf is no usable name: it is too long, keeps nothing of the texts, or ends like a metric of
 * another type.
 */
export function isNoMetric(name: string): boolean {
  return name.length > LONGEST_METRIC || name === METRIC_PREFIX || metricNameProblem(name) !== undefined;
}

/** A metric name followed by the id, at most 200 characters long. */
export function metricWithId(name: string, id: string): string {
  const end = slug(id);
  return `${name.slice(0, LONGEST_METRIC - end.length - 1).replace(/_$/, '')}_${end}`;
}

/** The label of each facet: its name, or `facet_<name>` when our rules or Prometheus use that label. */
export function facetLabels(
  facets: readonly (string | undefined)[],
  staticLabels: readonly string[],
): readonly string[] {
  const taken = new Set<string>();
  return facets.map((facet, index) => {
    const place = `facet_${index + 1}`;
    const plain = defaultLabel(facet ?? '');
    const isOurs = RULE_LABELS.has(plain) || queryLabelProblem(plain, staticLabels) !== undefined;
    let label = isOurs ? `facet_${plain.replace(/^_+/, '')}` : plain;
    if (facet === undefined || label === 'facet_' || staticLabels.includes(label) || taken.has(label)) label = place;
    while (taken.has(label)) label = `${label}_`;
    taken.add(label);
    return label;
  });
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
}

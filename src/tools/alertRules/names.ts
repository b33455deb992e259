import { metricNameProblem } from '../../config/schema/customMetric.ts';

const LONGEST_METRIC = 200;
const METRIC_PREFIX = 'newrelic_condition_';

/**
 * A name for each item, by id: the plain one, or `withId` of it when it is refused or shared with another item.
 *
 * @param isRefused true when the plain name cannot be used
 */
export function uniqueNames<T extends { readonly id: string }>(
  items: readonly T[],
  plain: (item: T) => string,
  withId: (name: string, id: string) => string,
  isRefused: (name: string) => boolean = (name) => name === '',
): ReadonlyMap<string, string> {
  const uses = new Map<string, number>();
  for (const item of items) uses.set(plain(item), (uses.get(plain(item)) ?? 0) + 1);
  const used = new Set(uses.keys());
  return new Map(
    items.map((item) => {
      let name = plain(item);
      if (uses.get(name) !== 1 || isRefused(name)) {
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

function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
}

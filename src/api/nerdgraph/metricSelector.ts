import { any, filled, isIn, isLike, isNull, all, type Condition } from './nrql.ts';
import { isDatastore, METRIC } from '../../formulas/metricInputs.ts';
import { isApdex, SIGN_OF_LIFE } from '../../formulas/timesliceValues.ts';

/** For what reports, these count 0 where nothing was recorded. */
export const ZERO_WITHOUT_ROW: readonly string[] = [METRIC.web, METRIC.nonWeb, METRIC.errors];

/** Sums that agents keep beside the metrics of single transactions: they are never reported for one transaction only. */
const ROLLUPS: ReadonlySet<string> = new Set([...Object.values(METRIC), SIGN_OF_LIFE]);

/** The pattern for the metrics of all datastore types, such as `Datastore/MySQL/allWeb`. */
const DATASTORES_LIKE = 'Datastore/%/allWeb';

function isRollup(name: string): boolean {
  return ROLLUPS.has(name) || isDatastore(name);
}

/** Times, counts and sizes cannot be below zero; what an agent's gauge holds may be, whatever its name. */
export function isNeverNegative(name: string): boolean {
  return isRollup(name) || isApdex(name);
}

/** Limit for remembered matches of patterns; beyond it a new match is cheaper. */
const MOST_FOUND = 10_000;

/** The metrics that a query asks for of an application, or of its hosts. Who asks for the same shares one object. */
export class MetricSelector {
  readonly names: readonly string[];
  /** Texts that names contain. */
  readonly filters: readonly string[];
  /** True if the metrics of all datastore types are included. */
  readonly hasDatastores: boolean;
  /** The names and patterns in the WHERE clause; undefined: there are none, as for key transactions. */
  readonly condition: Condition | undefined;
  /** The length of that text. */
  readonly characters: number;
  readonly #found = new Map<string, string>();

  constructor(names: readonly string[], filters: readonly string[], hasDatastores: boolean) {
    this.names = names;
    this.filters = filters;
    this.hasDatastores = hasDatastores;
    // Agents report some names also for single transactions, in the attribute `scope`. Whether a name counts those too when
    // no scope is asked for is not documented, so names that may have them are asked for without a scope.
    const rollups = conditionOf(names.filter(isRollup), hasDatastores ? [DATASTORES_LIKE] : []);
    const others = conditionOf(
      names.filter((name) => !isRollup(name)),
      filters.map((filter) => `%${filter}%`),
    );
    const unscoped = others === undefined ? undefined : all([isNull('scope'), others]);
    const conditions = filled([rollups, unscoped].filter((condition) => condition !== undefined));
    this.condition = conditions === undefined ? undefined : any(conditions);
    this.characters = this.condition?.text.length ?? 0;
    this.#forget();
  }

  /** The expected rows of one application or host with these numbers of datastore types and matching names. */
  rows(datastores: number, matches: number): number {
    const rows = this.names.length + (this.hasDatastores ? datastores : 0) + (this.filters.length > 0 ? matches : 0);
    return Math.max(1, rows);
  }

  /**
   * The name itself, as it was asked for, or undefined when it was not. A response names each metric in thousands of rows, so
   * they are told apart by one look-up, and the rows all hold the same text instead of a copy each. Patterns are matched
   * again: the service ignores case.
   */
  find(name: string): string | undefined {
    const known = this.#found.get(name);
    if (known !== undefined || !this.#matches(name)) return known;
    if (this.#found.size >= MOST_FOUND) this.#forget();
    this.#found.set(name, name);
    return name;
  }

  /** Two selectors with half of the names each; undefined for a single name or pattern. */
  halves(): readonly [MetricSelector, MetricSelector] | undefined {
    const { names, filters, hasDatastores } = this;
    const hasPatterns = hasDatastores || filters.length > 0;
    const middle = names.length > 1 || !hasPatterns ? names.length >> 1 : names.length;
    if (middle > 0) {
      return [
        new MetricSelector(names.slice(0, middle), [], false),
        new MetricSelector(names.slice(middle), filters, hasDatastores),
      ];
    }
    if (filters.length < 2) return undefined;
    const half = filters.length >> 1;
    return [
      new MetricSelector([], filters.slice(0, half), hasDatastores),
      new MetricSelector([], filters.slice(half), false),
    ];
  }

  #matches(name: string): boolean {
    return (this.hasDatastores && isDatastore(name)) || this.filters.some((filter) => name.includes(filter));
  }

  #forget(): void {
    this.#found.clear();
    for (const name of this.names) this.#found.set(name, name);
  }
}

function conditionOf(names: readonly string[], patterns: readonly string[]): Condition | undefined {
  const literals = filled(names);
  const conditions = filled([
    ...(literals === undefined ? [] : [isIn('metricTimesliceName', literals)]),
    ...patterns.map((pattern) => isLike('metricTimesliceName', pattern)),
  ]);
  return conditions === undefined ? undefined : any(conditions);
}

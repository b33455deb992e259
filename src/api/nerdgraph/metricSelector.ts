import { joinWithAnd, joinWithOr, whereIn, whereLike } from './nrql.ts';
import { isApdex, isDatastore, METRIC } from '../../formulas/metricInputs.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';

/** Metrics that are 0 without a row, if the application or host reports. */
export const ZERO_WITHOUT_ROW: readonly string[] = [METRIC.web, METRIC.nonWeb, METRIC.errors];

/** Metrics that agents report for all transactions together, and never for a single transaction. */
const ROLLUPS: ReadonlySet<string> = new Set([...Object.values(METRIC), SIGN_OF_LIFE]);

const DATASTORES_LIKE = 'Datastore/%/allWeb';

function isRollup(name: string): boolean {
  return ROLLUPS.has(name) || isDatastore(name);
}

/** True for times, counts and sizes, which cannot be negative; false for gauges of agents. */
export function isNeverNegative(name: string): boolean {
  return isRollup(name) || isApdex(name);
}

const MAX_FOUND = 10_000;

/** The metrics that a query reads of an application or its hosts. */
export class MetricSelector {
  readonly names: readonly string[];
  /** The query also selects the names that contain one of these texts. */
  readonly filters: readonly string[];
  readonly hasDatastores: boolean;
  readonly needsSquares: boolean;
  /** Term of the WHERE clause; empty without names and patterns. Subjects with equal conditions share one term. */
  readonly condition: string;
  /** Selected names. The value is the text that all rows of a name share. */
  readonly #found = new Map<string, string>();

  constructor(names: readonly string[], filters: readonly string[] = [], hasDatastores = false, needsSquares = false) {
    this.names = names;
    this.filters = filters;
    this.hasDatastores = hasDatastores;
    this.needsSquares = needsSquares;
    // Agents also report some metrics for each transaction, in rows with the attribute `scope`. A query may count such
    // rows again (not documented), so metrics that may have them are read where the scope is null.
    const rollups = writeCondition(names.filter(isRollup), hasDatastores ? [DATASTORES_LIKE] : []);
    const others = writeCondition(
      names.filter((name) => !isRollup(name)),
      filters.map((filter) => `%${filter}%`),
    );
    this.condition = joinWithOr([rollups, others === '' ? '' : joinWithAnd(['scope IS NULL', others])]);
    this.#rememberSelected();
  }

  /** Returns a selected name as a text that its rows share. Compares the case, which New Relic ignores in patterns. */
  find(name: string): string | undefined {
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const isFound = (this.hasDatastores && isDatastore(name)) || this.filters.some((filter) => name.includes(filter));
    if (!isFound) return undefined;
    if (this.#found.size >= MAX_FOUND) this.#rememberSelected();
    this.#found.set(name, name);
    return name;
  }

  /** Halves the names, or else the patterns, into two selectors; undefined for a single name or pattern. */
  halve(): readonly [MetricSelector, MetricSelector] | undefined {
    const { names, filters, hasDatastores } = this;
    const hasPatterns = hasDatastores || filters.length > 0;
    const middle = names.length > 1 || !hasPatterns ? names.length >> 1 : names.length;
    if (middle > 0) {
      return [
        new MetricSelector(names.slice(0, middle)),
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

  #rememberSelected(): void {
    this.#found.clear();
    for (const name of this.names) this.#found.set(name, name);
  }
}

function writeCondition(names: readonly string[], patterns: readonly string[]): string {
  const named = names.length === 0 ? '' : whereIn('metricTimesliceName', names);
  return joinWithOr([named, ...patterns.map((pattern) => whereLike('metricTimesliceName', pattern))]);
}

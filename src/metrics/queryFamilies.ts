import { PERCENTILE_LABEL, type RowReading, type RowRules } from '../nrql/queryRows.ts';
import { defaultLabel, readStatement } from '../nrql/statement.ts';
import { createFamily, type Family, type Sample } from './family.ts';

/** A query of the account, of one of its query files or of a pack. Durations are milliseconds. */
export interface QueryDefinition {
  /** `<pack>/<query>` for a query of a pack. */
  readonly name: string;
  readonly nrql: string;
  readonly labels?: readonly string[] | undefined;
  readonly metrics: readonly {
    readonly name: string;
    readonly help: string;
    readonly value?: string | undefined;
    readonly scale: number;
  }[];
  readonly window?: number | undefined;
  readonly delay?: number | undefined;
  readonly interval: number;
  readonly limit?: number | undefined;
  readonly fail_at?: RowRules['failAt'];
  readonly max_series: number;
}

export interface Query {
  readonly definition: QueryDefinition;
  readonly rules: RowRules;
  readonly families: readonly Family[];
}

/** Prepares the checked queries of an account. Metrics with the same name share a family. */
export function prepareQueries(definitions: readonly QueryDefinition[]): readonly Query[] {
  const families = new Map<string, Family>();
  return definitions.map((definition) => {
    const { facets, columns } = readStatement(definition.nrql);
    const labels = definition.labels ?? facets.map(({ name }) => defaultLabel(name ?? ''));
    const rules: RowRules = {
      facets: facets.map(({ name }) => name),
      labels,
      metrics: definition.metrics.map(({ value, scale }) => ({
        column: value,
        scale,
        ...describeColumn(columns, value),
      })),
      onlyColumn: columns[0]?.key,
      limit: definition.limit,
      failAt: definition.fail_at,
      maxSeries: definition.max_series,
    };
    const queryFamilies = definition.metrics.map(({ name, help, value }) => {
      const labelNames = describeColumn(columns, value).hasPercentiles ? [...labels, PERCENTILE_LABEL] : labels;
      const column = value === undefined ? 'its only column' : `its column ${value}`;
      const source = `an NRQL query of the configuration, ${column}`;
      const texts = { meaning: help, source, timeBase: 'window of the query' };
      const family = families.get(name) ?? createFamily('queries', name, labelNames, texts);
      families.set(name, family);
      return family;
    });
    return { definition, rules, families: queryFamilies };
  });
}

/**
 * Returns what the query text says about the column of a metric. New Relic chooses the key of a nested function such
 * as `filter(percentile(a, 75), ...)`, unless it has an alias. A value without a matching key names one of those.
 * Like `readRows`, ignores case for keys without alias.
 */
function describeColumn(
  columns: ReturnType<typeof readStatement>['columns'],
  value: string | undefined,
): { readonly hasPercentiles: boolean; readonly isFiltered: boolean } {
  const named =
    columns.find(({ key }) => key === value) ??
    columns.find(({ key, hasAlias }) => !hasAlias && key?.toLowerCase() === value?.toLowerCase());
  const withoutKey = columns.filter(({ key }) => key === undefined);
  const candidates = value === undefined ? columns.slice(0, 1) : named === undefined ? withoutKey : [named];
  return {
    // A wrong number is worse than none: all candidates must have percentiles.
    hasPercentiles: candidates.length > 0 && candidates.every(({ percentiles }) => percentiles > 0),
    isFiltered: candidates.some(({ isFiltered }) => isFiltered),
  };
}

export function querySamples({ families }: Query, { series }: RowReading): readonly Sample[] {
  return families.flatMap((family, index) =>
    (series[index] ?? []).map(({ labels, value }) => ({ family, labels, value })),
  );
}

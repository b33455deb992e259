import type { DatabaseKind, WindowValues } from './inputs.ts';
import { METRIC, isDatastore } from './names.ts';

/** The database kind that counts, or `none` where the application has no database metric. */
export type DatabaseChoice = DatabaseKind | 'none';

/**
 * Which database kind counts for an application (specification, calculation 5; contract 5.4): the first of ActiveRecord
 * (old ruby agents only), Datastore and Database that has calls, else the first that is present. A ruby application
 * that has ActiveRecord at all never uses Database. `override` is the setting `database_component`.
 */
export function databaseKind(
  values: WindowValues,
  language: string | undefined,
  override: 'auto' | DatabaseKind,
): DatabaseChoice {
  if (override !== 'auto') return override;
  const present = candidates(values, language?.trim().toLowerCase() === 'ruby').filter(
    (kind) => metricsOf(values, kind).length > 0,
  );
  const called = present.find((kind) => metricsOf(values, kind).some((name) => callsOf(values, name) > 0));
  return called ?? present[0] ?? 'none';
}

/**
 * The metrics of the chosen kind that count, sorted: of several datastore types those with calls, or all that are present
 * where none has (contract 5.4). A type without calls may be one that is no longer in use.
 */
export function databaseMetrics(values: WindowValues, choice: DatabaseChoice): string[] {
  const names = metricsOf(values, choice);
  const called = names.filter((name) => callsOf(values, name) > 0);
  return called.length > 0 ? called : names;
}

function candidates(values: WindowValues, ruby: boolean): readonly DatabaseKind[] {
  if (!ruby) return ['datastore', 'database'];
  const oldAgent = metricsOf(values, 'active_record').length > 0;
  return oldAgent ? ['active_record', 'datastore'] : ['datastore', 'database'];
}

/** The metrics of a kind that upstream answered with a call count. */
function metricsOf(values: WindowValues, choice: DatabaseChoice): string[] {
  return namesOf(values, choice).filter((name) => values.get(name)?.values['call_count'] !== undefined);
}

function namesOf(values: WindowValues, choice: DatabaseChoice): readonly string[] {
  switch (choice) {
    case 'datastore':
      return [...values.keys()].filter(isDatastore).sort();
    case 'database':
      return [METRIC.database];
    case 'active_record':
      return [METRIC.activeRecord];
    case 'none':
      return [];
  }
}

function callsOf(values: WindowValues, name: string): number {
  return values.get(name)?.values['call_count'] ?? 0;
}

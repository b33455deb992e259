import type { WindowValues } from './inputs.ts';
import { METRIC, isDatastore } from './names.ts';

/** A kind of database metrics. The kinds measure the same calls, so only one of them counts for an application. */
export type DatabaseKind = 'datastore' | 'database' | 'active_record';

/** The database kind that counts, or `none` where the application has no database metric. */
export type DatabaseChoice = DatabaseKind | 'none';

/**
 * Which database kind counts for an application: the first of ActiveRecord (old ruby agents only), Datastore and Database
 * that has calls, else the first that is present. A ruby application that has ActiveRecord at all never uses Database.
 * `override` is the setting `database_component`.
 *
 * Undefined: undecided. A metric that was answered without a readable call count may have calls, so it decides nothing, and
 * neither does any kind after it. What was decided earlier, on an answer that could be read, still holds then.
 */
export function databaseKind(
  values: WindowValues,
  language: string | undefined,
  override: 'auto' | DatabaseKind,
): DatabaseChoice | undefined {
  if (override !== 'auto') return override;
  const kinds = candidates(values, language?.trim().toLowerCase() === 'ruby');
  for (const kind of kinds) {
    const calls = namesOf(values, kind).map((name) => callsOf(values, name));
    if (calls.some((count) => count !== undefined && count > 0)) return kind;
    if (calls.includes(undefined)) return undefined;
  }
  return kinds.find((kind) => namesOf(values, kind).length > 0) ?? 'none';
}

/**
 * The answered metrics of the chosen kind that count, sorted: of several datastore types those with calls (a type without
 * calls may no longer be in use) and those whose calls cannot be read, or all where none has calls.
 */
export function databaseMetrics(values: WindowValues, choice: DatabaseChoice): string[] {
  const names = namesOf(values, choice);
  const called = names.filter((name) => (callsOf(values, name) ?? Infinity) > 0);
  return called.length > 0 ? called : names;
}

function candidates(values: WindowValues, ruby: boolean): readonly DatabaseKind[] {
  if (!ruby) return ['datastore', 'database'];
  return values.has(METRIC.activeRecord) ? ['active_record', 'datastore'] : ['datastore', 'database'];
}

/** The metrics of a kind that upstream answered. */
function namesOf(values: WindowValues, choice: DatabaseChoice): string[] {
  switch (choice) {
    case 'datastore':
      return [...values.keys()].filter(isDatastore).sort();
    case 'database':
      return values.has(METRIC.database) ? [METRIC.database] : [];
    case 'active_record':
      return values.has(METRIC.activeRecord) ? [METRIC.activeRecord] : [];
    case 'none':
      return [];
  }
}

function callsOf(values: WindowValues, name: string): number | undefined {
  return values.get(name)?.values['call_count'];
}

import { NrqlError, comparedValues } from './condition.ts';
import type { ColumnValue } from './nrqlFunctions.ts';
import type { NrqlQuery } from './parseQuery.ts';
import type { NrqlRow } from './rowTally.ts';
import type { StoredEvent } from '../world/accountEvents.ts';
import { MINUTE } from '../world/worldEntities.ts';
import type { PlantedFacts } from '../simulatorSettings.ts';

const UNMATCHED = 'No application was matched (did you specify appId, appName or entity.guid?)';
/** An application id without quotes. */
const UNQUOTED_ID = /\bappId\s*(?:=|IN\s*\()\s*\d/;
const LISTS = /\bIN\s*\(([^()]*)\)/g;
const LIKE = /\bLIKE\s+'((?:[^'\\]|\\.)*)'/g;

/** Throws an NrqlError for a query that a planted fact refuses. */
export function checkQuery(
  text: string,
  query: NrqlQuery,
  isApplication: (id: string) => boolean,
  facts: PlantedFacts,
): void {
  const applications = comparedValues(query.where, 'appId');
  if (facts.has('nerdgraph_app_id') && UNQUOTED_ID.test(text)) throw new NrqlError(UNMATCHED);
  if (facts.has('nerdgraph_unmatched') && applications.some((id) => !isApplication(id))) throw new NrqlError(UNMATCHED);
  if (facts.has('nerdgraph_in_list') && hasMixedList(text)) throw new NrqlError('NRQL Syntax Error: mixed types in IN');
  if (
    facts.has('nerdgraph_host_query') &&
    query.facets.length > 2 &&
    query.inputs.some(({ field }) => field !== undefined)
  ) {
    throw new NrqlError('NRQL Syntax Error: a field of a timeslice cannot be used with three facets');
  }
  if (facts.has('nerdgraph_golden_query') && GOLDEN.test(text)) throw new NrqlError('NRQL Syntax Error: mixed data');
  if (facts.has('nerdgraph_names') && /\buniques\([^)]*,\s*\d{5}/.test(text)) {
    throw new NrqlError('NRQL Syntax Error: uniques() gives at most 5000 values');
  }
}

/** A query for golden metrics, by its first alias. */
const GOLDEN = /\bAS m0\b/;

function hasMixedList(text: string): boolean {
  return [...text.matchAll(LISTS)].some(([, list = '']) => {
    const members = list.split(',').map((member) => member.trim());
    return members.some((member) => member.startsWith("'")) && members.some((member) => /^\d/.test(member));
  });
}

/** The query, in which, where a planted fact makes LIKE case-sensitive, a pattern in lower case matches nothing. */
export function withCaseSensitiveLike(text: string, facts: PlantedFacts): string {
  if (!facts.has('nerdgraph_like')) return text;
  return text.replace(LIKE, (whole, pattern: string) => (pattern === pattern.toLowerCase() ? "LIKE '\u0000'" : whole));
}

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The step, in milliseconds, to whose multiples both ends of a range are moved, by the length of the range. */
export function stepOf(length: number, snaps: boolean, facts: PlantedFacts): number {
  if (length >= DAY) return facts.has('nerdgraph_day') ? 3 * HOUR : snaps ? 10 * MINUTE : 1;
  if (length >= HOUR) return facts.has('nerdgraph_hour') ? HOUR : snaps ? 5 * MINUTE : 1;
  return length >= 30 * MINUTE && facts.has('nerdgraph_half_hour') ? 20 * MINUTE : 1;
}

/** True for timeslices that a planted fact removes: agents of one language do not send the sign of life. */
export function isRemoved(metric: string, language: string, facts: PlantedFacts): boolean {
  return facts.has('nerdgraph_sign_of_life') && metric === 'Agent/MetricsReported/count' && language === 'php';
}

/** The name of a metric in NRQL; a planted fact writes the types of datastores in lower case. */
export function plantedName(metric: string, facts: PlantedFacts): string {
  return facts.has('same_database_types') && /^Datastore\/[^/]+\/allWeb$/.test(metric)
    ? metric.replace(/(?<=^Datastore\/)[^/]+/, (type) => type.toLowerCase())
    : metric;
}

/** Fields that a planted fact removes from the events of these types. */
const REMOVED_FIELDS: readonly (readonly [string, types: readonly string[], field: string])[] = [
  ['pack_alert_events', ['NrAiIncident'], 'openTime'],
  ['pack_service_levels', ['ServiceLevelSnapshot'], 'remainingErrorBudget'],
  ['pack_deployments', ['ChangeTrackingEvent', 'Deployment'], 'version'],
  ['pack_transactions', ['Transaction'], 'transactionType'],
  ['pack_browser', ['PageViewTiming'], 'interactionToNextPaint'],
  ['pack_synthetics', ['SyntheticCheck'], 'locationLabel'],
  ['pack_limits', ['Metric'], 'limitTimeInterval'],
  ['pack_limits_reached', ['NrIntegrationError'], 'limitName'],
  ['pack_usage', ['NrConsumption', 'NrMTDConsumption'], 'GigabytesIngested'],
];

/** Removes from events of a type the fields that planted facts remove. */
export function eventReader(type: string, facts: PlantedFacts): (event: StoredEvent) => StoredEvent {
  const removed = REMOVED_FIELDS.flatMap(([fact, types, field]) =>
    facts.has(fact) && types.includes(type) ? [field] : [],
  );
  if (removed.length === 0) return (event) => event;
  return (event) =>
    Object.fromEntries(Object.entries(event).filter(([name]) => !removed.includes(name))) as StoredEvent;
}

/** The planted facts that change the shape of single cells. */
const SHAPES = ['nerdgraph_series', 'nerdgraph_facets', 'nerdgraph_percentile'] as const;

/** The rows with planted differences: other shapes of facets and percentiles, and rows of names without data. */
export function plantedRows(
  rows: readonly NrqlRow[],
  query: NrqlQuery,
  facts: PlantedFacts,
): readonly Readonly<Record<string, unknown>>[] {
  const shapeOf = (row: NrqlRow) =>
    Object.fromEntries(Object.entries(row).map(([key, value]) => [key, plantedCell(key, value, facts)]));
  const shaped = SHAPES.some((fact) => facts.has(fact)) ? rows.map(shapeOf) : rows;
  const [facet, ...others] = query.facets;
  if (!facts.has('nerdgraph_no_row') || facet?.attribute !== 'metricTimesliceName' || others.length > 0) return shaped;
  const shown = new Set(rows.map((row) => row['facet']));
  const missing = comparedValues(query.where, facet.attribute).filter((name) => !shown.has(name));
  const zeros = Object.fromEntries(query.select.map(({ key }) => [key, 0]));
  return [...shaped, ...missing.map((name) => ({ facet: name, [facet.key]: name, ...zeros }))];
}

function plantedCell(key: string, value: ColumnValue, facts: PlantedFacts): unknown {
  const isTime = key === 'beginTimeSeconds' || key === 'endTimeSeconds';
  if (facts.has('nerdgraph_series') && isTime && typeof value === 'number') return value + 30;
  if (facts.has('nerdgraph_facets') && key === 'facet' && Array.isArray(value)) {
    return value.map((each: string) => (/^\d+$/.test(each) ? Number(each) : each));
  }
  const isPercentile = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!facts.has('nerdgraph_percentile') || !isPercentile) return value;
  return Object.values(value as Readonly<Record<string, number | null>>)[0] ?? null;
}

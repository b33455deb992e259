import type { Json, JsonObject } from '../http/json.ts';

/** Members whose numbers are figures; ids and ports outside them stay as they are. */
const FIGURES = new Set(['application_summary', 'end_user_summary', 'settings', 'values']);
const PLACEHOLDER = '\u0000number\u0000';

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapValue(value: Json, replace: (figure: number) => Json, isFigure: boolean): Json {
  if (typeof value === 'number') return isFigure ? replace(value) : value;
  if (Array.isArray(value)) return value.map((item: Json) => mapValue(item, replace, isFigure));
  return isObject(value) ? mapMembers(value, replace, isFigure) : value;
}

function mapMembers(body: JsonObject, replace: (figure: number) => Json, isFigure: boolean): JsonObject {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, mapValue(value, replace, isFigure || FIGURES.has(name))]),
  );
}

/** The body with every figure replaced. */
export function mapFigures(body: JsonObject, replace: (figure: number) => Json): JsonObject {
  return mapMembers(body, replace, false);
}

/** The body as JSON text with every figure written as `literal`, which JavaScript itself could not hold. */
export function withNumbers(body: JsonObject, literal: string): string {
  return JSON.stringify(mapFigures(body, () => PLACEHOLDER)).replaceAll(JSON.stringify(PLACEHOLDER), literal);
}

/** The envelope holds a text where the object or the list should be. */
export function withWrongShape(body: JsonObject): JsonObject {
  const envelope = Object.keys(body)[0];
  return envelope === undefined ? body : { ...body, [envelope]: 'unexpected' };
}

function spoilFirst(records: readonly Json[]): readonly Json[] {
  return records.map((record, index) => (index === 0 ? spoil(record) : record));
}

function spoil(record: Json): Json {
  if (!isObject(record)) return null;
  // Metric data have no id: there the first metric loses its name.
  const { metrics } = record;
  if (Array.isArray(metrics)) return { ...record, metrics: spoilFirst(metrics as readonly Json[]) };
  return { ...record, id: 'not a number', name: null };
}

/** The first record, or the only one, has a text for an id and no name; the rest is sound. */
export function withBadRecord(body: JsonObject): JsonObject {
  const [envelope, value] = Object.entries(body)[0] ?? [];
  if (envelope === undefined || value === undefined) return body;
  return { ...body, [envelope]: Array.isArray(value) ? spoilFirst(value as readonly Json[]) : spoil(value) };
}

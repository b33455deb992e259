import type { Json, JsonObject } from '../wire/json.ts';

/** Members whose numbers are figures; ids and ports outside them stay as they are. */
const FIGURES = new Set([
  'application_summary',
  'end_user_summary',
  'settings',
  'values',
  'apmSummary',
  'apdexTarget',
  'browserApdexTarget',
  'otherResult',
  'totalResult',
]);
/** Times inside rows of NRQL. */
const TIMES = new Set(['beginTimeSeconds', 'endTimeSeconds']);
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
    Object.entries(body).map(([name, value]) => {
      // The rows of NRQL are a list; the member of the same name in an entity search is an object.
      const isRows = name === 'results' && Array.isArray(value);
      const holdsFigures = (isFigure || FIGURES.has(name) || isRows) && !TIMES.has(name);
      return [name, mapValue(value, replace, holdsFigures)];
    }),
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
  const envelope = 'data' in body ? 'data' : Object.keys(body)[0];
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

/** The first record, or the only one, has a text for an id and no name; the rest is valid. */
export function withBadRecord(body: JsonObject): JsonObject {
  if (isObject(body['data'] ?? null)) return { ...body, data: spoilFirstOfGraphql(body['data'] ?? null).value };
  const [envelope, value] = Object.entries(body)[0] ?? [];
  if (envelope === undefined || value === undefined) return body;
  return { ...body, [envelope]: Array.isArray(value) ? spoilFirst(value as readonly Json[]) : spoil(value) };
}

/** What identifies entities, accounts and rows of NRQL. */
const IDENTITY: Readonly<Record<string, Json>> = {
  guid: null,
  name: null,
  id: 'not a number',
  applicationId: 'not a number',
  tags: null,
  application: null,
  facet: null,
};

/** GraphQL answers nest their lists: the first list of objects has its first entry spoilt. */
function spoilFirstOfGraphql(value: Json): { readonly value: Json; readonly isDone: boolean } {
  if (Array.isArray(value)) {
    const [first, ...rest] = value as readonly Json[];
    if (first === undefined || !isObject(first)) return { value, isDone: false };
    const known = Object.entries(IDENTITY).filter(([name]) => name in first);
    return { value: [{ ...first, ...Object.fromEntries(known) }, ...rest], isDone: true };
  }
  if (!isObject(value)) return { value, isDone: false };
  for (const [name, member] of Object.entries(value)) {
    const spoilt = spoilFirstOfGraphql(member);
    if (spoilt.isDone) return { value: { ...value, [name]: spoilt.value }, isDone: true };
  }
  return { value, isDone: false };
}

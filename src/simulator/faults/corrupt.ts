import type { Json, JsonObject } from '../http/json.ts';

/** Members whose numbers are figures; ids and counts outside them stay as they are. */
const FIGURES = new Set(['application_summary', 'end_user_summary', 'settings', 'values']);

/** The body with every figure replaced. */
export function mapFigures(body: Json, replace: (figure: number) => Json, inFigures = false): Json {
  if (typeof body === 'number') return inFigures ? replace(body) : body;
  if (Array.isArray(body)) return body.map((item: Json) => mapFigures(item, replace, inFigures));
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(
    Object.entries(body as JsonObject).map(([name, value]) => [
      name,
      mapFigures(value, replace, inFigures || FIGURES.has(name)),
    ]),
  );
}

const PLACEHOLDER = '\u0000number\u0000';

/** The body as JSON text with every figure written as `literal`, which JavaScript itself could not hold. */
export function withNumbers(body: JsonObject, literal: string): string {
  return JSON.stringify(mapFigures(body, () => PLACEHOLDER)).replaceAll(JSON.stringify(PLACEHOLDER), literal);
}

/** The envelope holds a text where the object or the list should be. */
export function withWrongShape(body: JsonObject): JsonObject {
  const envelope = Object.keys(body)[0];
  return envelope === undefined ? body : { ...body, [envelope]: 'unexpected' };
}

function withoutIdentity(record: Json): Json {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return null;
  return { ...(record as JsonObject), id: 'not a number', name: null };
}

/** The first record, or the only one, has a text for an id and no name; the rest is sound. */
export function withBadRecord(body: JsonObject): JsonObject {
  const [envelope, value] = Object.entries(body)[0] ?? [];
  if (envelope === undefined || value === undefined) return body;
  if (!Array.isArray(value)) return { ...body, [envelope]: withoutIdentity(value) };
  const [first, ...rest] = value as readonly Json[];
  return { ...body, [envelope]: first === undefined ? [] : [withoutIdentity(first), ...rest] };
}

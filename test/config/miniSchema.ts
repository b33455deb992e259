import type { JsonSchema } from '../../src/config/schemaIssues.ts';

/** The keywords of JSON Schema that are understood here; a schema with any other is refused, not passed over. */
const KEYWORDS = new Set([
  '$schema',
  'title',
  'description',
  'default',
  'type',
  'properties',
  'required',
  'additionalProperties',
  'propertyNames',
  'items',
  'minItems',
  'anyOf',
  'enum',
  'pattern',
  'minLength',
  'minimum',
  'maximum',
]);

/** A small reader of JSON Schema: why a value does not follow the schema, or nothing. */
export function violations(schema: JsonSchema, value: unknown, at = '$'): string[] {
  const unknown = Object.keys(schema).filter((keyword) => !KEYWORDS.has(keyword));
  if (unknown.length > 0) throw new Error(`${at}: keywords that are not understood: ${unknown.join(', ')}`);
  if (schema.anyOf !== undefined) {
    const all = schema.anyOf.map((branch) => violations(branch, value, at));
    return all.some((found) => found.length === 0) ? [] : all.flat();
  }
  const { type } = schema;
  if (Array.isArray(type)) throw new Error(`${at}: several types are not understood`);
  if (type !== undefined && !hasType(type, value)) return [`${at}: not of type ${type}`];
  if (schema.enum?.includes(value as string) === false) return [`${at}: not one of ${schema.enum.join(', ')}`];
  if (typeof value === 'string') return textViolations(schema, value, at);
  if (typeof value === 'number') {
    const { minimum = -Infinity, maximum = Infinity } = schema;
    return value < minimum || value > maximum ? [`${at}: out of range`] : [];
  }
  if (Array.isArray(value)) return listViolations(schema, value, at);
  return typeof value === 'object' && value !== null
    ? mappingViolations(schema, value as Record<string, unknown>, at)
    : [];
}

function textViolations({ minLength = 0, pattern = '' }: JsonSchema, value: string, at: string): string[] {
  return value.length >= minLength && new RegExp(pattern).test(value) ? [] : [`${at}: not as it must be written`];
}

function listViolations({ items, minItems = 0 }: JsonSchema, value: readonly unknown[], at: string): string[] {
  if (value.length < minItems) return [`${at}: too few items`];
  if (typeof items !== 'object' || Array.isArray(items)) return [];
  return value.flatMap((item, index) => violations(items, item, `${at}[${String(index)}]`));
}

function mappingViolations(schema: JsonSchema, value: Readonly<Record<string, unknown>>, at: string): string[] {
  const missing = (schema.required ?? []).filter((key) => !(key in value)).map((key) => `${at}.${key}: missing`);
  const inner = Object.entries(value).flatMap(([key, item]) => {
    const known = schema.properties?.[key] ?? schema.additionalProperties ?? true;
    if (typeof known === 'boolean') return known ? [] : [`${at}.${key}: unknown key`];
    return violations(known, item, `${at}.${key}`);
  });
  return [...missing, ...inner];
}

function hasType(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

import type { JsonSchema } from '../../src/config/schemaIssues.ts';

/** A key of a mapping, with what the documentation says of it. */
export interface SchemaKey {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
  readonly description: string;
}

/** The keys of a mapping in the order of the schema; a key without a description is a mistake of the schema. */
export function keysOf(mapping: JsonSchema): readonly SchemaKey[] {
  return Object.entries(mapping.properties ?? {}).map(([name, schema]) => {
    if (typeof schema === 'boolean' || typeof schema.description !== 'string') {
      throw new Error(`The key ${name} of the configuration has no description.`);
    }
    return { name, schema, required: mapping.required?.includes(name) === true, description: schema.description };
  });
}

/** The one schema that all items of a list follow. */
export function itemOf(schema: JsonSchema): JsonSchema | undefined {
  const { items } = schema;
  return typeof items === 'object' && !Array.isArray(items) ? items : undefined;
}

/** The alternatives of a union, or the schema alone. */
export function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  return schema.anyOf ?? [schema];
}

/** One of the documentation's own notes (see KeyNotes) when it is a text. */
export function noteOf(schema: JsonSchema, note: 'placeholder' | 'otherwise' | 'range'): string | undefined {
  const text = schema[note];
  return typeof text === 'string' ? text : undefined;
}

/** A value that shows the schema in use: its example, its default, or one made of its parts. */
export function sampleOf(schema: JsonSchema): unknown {
  if (schema['example'] !== undefined) return schema['example'];
  const item = itemOf(schema);
  if (item !== undefined) return [sampleOf(item)];
  if (schema.properties === undefined) return schema.default;
  return Object.fromEntries(keysOf(schema).map(({ name, schema: inner }) => [name, sampleOf(inner)]));
}

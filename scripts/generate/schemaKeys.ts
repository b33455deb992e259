import type { JsonSchema } from '../../src/config/schemaIssues.ts';

/** A key of a mapping, with its description. */
export interface SchemaKey {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
  readonly description: string;
}

/** Returns the keys of a mapping in the order of the schema. Throws for a key without a description. */
export function keysOf(mapping: JsonSchema): readonly SchemaKey[] {
  return Object.entries(mapping.properties ?? {}).map(([name, schema]) => {
    if (typeof schema === 'boolean' || typeof schema.description !== 'string') {
      throw new Error(`The key ${name} of the configuration has no description.`);
    }
    return { name, schema, required: mapping.required?.includes(name) === true, description: schema.description };
  });
}

/** Returns the schema of the items of a list. */
export function itemOf(schema: JsonSchema): JsonSchema | undefined {
  const { items } = schema;
  return typeof items === 'object' && !Array.isArray(items) ? items : undefined;
}

/** Returns the alternatives of a union, or the schema alone. */
export function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  return schema.anyOf ?? [schema];
}

/** Returns a note of the documentation (see KeyNotes) if it is a text. */
export function noteOf(schema: JsonSchema, note: 'placeholder' | 'otherwise' | 'range'): string | undefined {
  const text = schema[note];
  return typeof text === 'string' ? text : undefined;
}

/** Returns a sample value: the example, the default, or a value made of the parts. */
export function sampleOf(schema: JsonSchema): unknown {
  if (schema['example'] !== undefined) return schema['example'];
  const item = itemOf(schema);
  if (item !== undefined) return [sampleOf(item)];
  if (schema.properties === undefined) return schema.default;
  return Object.fromEntries(keysOf(schema).map(({ name, schema: inner }) => [name, sampleOf(inner)]));
}

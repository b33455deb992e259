import type { JsonSchema } from '../../src/config/schemaIssues.ts';

const PLACEHOLDER = { type: 'string', pattern: '\\$\\{' } as const;
/** Keywords that only the documentation uses (see KeyNotes). */
const NOTES: ReadonlySet<string> = new Set(['placeholder', 'example', 'otherwise', 'range']);
const TITLE = 'Configuration of newrelic-apm-exporter';

/**
 * Converts the schema for editors: removes the notes of the documentation, and accepts `${NAME}` for every restricted
 * value, because the exporter replaces placeholders before it checks types.
 */
export function editorSchema(schema: JsonSchema): JsonSchema {
  const { $schema, ...rest } = adapted(schema);
  return { ...($schema === undefined ? {} : { $schema }), title: TITLE, ...rest };
}

function adapted(schema: JsonSchema): JsonSchema {
  const { description, ...rest } = Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => !NOTES.has(keyword)),
  ) as JsonSchema;
  const about = description === undefined ? {} : { description: description.replaceAll('`', '') };
  if (rest.properties !== undefined) {
    const properties = Object.entries(rest.properties).map(([key, value]) => [key, adaptedPart(value)] as const);
    return { ...about, ...rest, properties: Object.fromEntries(properties) };
  }
  if (typeof rest.items === 'object' && !Array.isArray(rest.items))
    return { ...about, ...rest, items: adapted(rest.items) };
  if (rest.anyOf !== undefined) {
    return { ...about, ...rest, anyOf: [...rest.anyOf.map(adapted), PLACEHOLDER] };
  }
  if (!isParticular(rest)) return { ...about, ...rest };
  const { default: preset, maximum, ...constraint } = rest;
  const bound = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum };
  return {
    ...about,
    ...(preset === undefined ? {} : { default: preset }),
    anyOf: [{ ...constraint, ...bound }, PLACEHOLDER],
  };
}

function adaptedPart(schema: JsonSchema | boolean): JsonSchema | boolean {
  return typeof schema === 'boolean' ? schema : adapted(schema);
}

/** True if the schema refuses a text with a placeholder. */
function isParticular(schema: JsonSchema): boolean {
  return (
    schema.type !== 'object' && (schema.type !== 'string' || schema.enum !== undefined || schema.pattern !== undefined)
  );
}

import { z } from 'zod';
import type { Path } from './fault.ts';
import { fileSchema } from './schema.ts';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The file's schema as JSON Schema, as the file is written: durations are text. */
export function inputSchema(): JsonSchema {
  return z.toJSONSchema(fileSchema, { io: 'input', target: 'draft-7' });
}

/** The keys that a mapping at a path may have; none where there is no mapping with fixed keys. */
export function keysAt(path: Path): readonly string[] {
  let schemas: readonly JsonSchema[] = [inputSchema()];
  for (const step of path) {
    schemas = schemas
      .flatMap((schema) => [schema, ...alternatives(schema)])
      .flatMap((schema) => {
        const next = typeof step === 'number' ? schema.items : schema.properties?.[step];
        return next === undefined || typeof next === 'boolean' || Array.isArray(next) ? [] : [next];
      });
  }
  return schemas
    .flatMap((schema) => [schema, ...alternatives(schema)])
    .flatMap((schema) => Object.keys(schema.properties ?? {}));
}

function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  return (schema.anyOf ?? []).filter((branch): branch is JsonSchema => typeof branch === 'object');
}

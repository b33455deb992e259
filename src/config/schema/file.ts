import * as z from 'zod';
import type { Path } from '../fault.ts';
import { account } from './account.ts';
import { collection } from './collection.ts';
import { list, notes } from './parts.ts';

/**
 * The configuration file: types, defaults and descriptions of every key, each key by itself, and how each is written.
 * `z.encode` gives the file of a configuration. What must hold between keys is in rules.ts.
 */
export const fileSchema = z.strictObject({
  accounts: notes(list(account, 1), { description: 'The accounts to read, each with its key.' }),
  collection: notes(collection.prefault({}), { description: 'How the data are collected, for all accounts alike.' }),
});

export type JsonSchema = z.core.JSONSchema.BaseSchema;

let made: JsonSchema | undefined;

/** The file's schema as JSON Schema, as the file is written: durations are text. Made once, when first asked for. */
export function inputSchema(): JsonSchema {
  made ??= z.toJSONSchema(fileSchema, { io: 'input', target: 'draft-7' });
  return made;
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
  return schema.anyOf ?? [];
}

import * as documents from '../../../src/api/nerdgraph/documents.ts';
import { readFileSync } from 'node:fs';
import { buildSchema, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';

const schema = buildSchema(readFileSync('simulator/nerdgraph/nerdgraph.graphql', 'utf8'));
const DOCUMENTS = Object.entries(documents);

describe('the GraphQL documents', () => {
  it.each(DOCUMENTS)('%s requests only fields of the schema', (_, { text }) => {
    expect(validate(schema, parse(text))).toEqual([]);
  });

  it.each(DOCUMENTS)('%s never requests the key, which the service would echo', (_, { text }) => {
    expect(text).not.toMatch(/requestContext|apiKey/);
  });
});

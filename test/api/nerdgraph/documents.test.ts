import * as documents from '../../../src/api/nerdgraph/documents.ts';
import { readFileSync } from 'node:fs';
import { buildSchema, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';

const schema = buildSchema(readFileSync('src/simulator/nerdgraph/nerdgraph.graphql', 'utf8'));

describe('the GraphQL documents', () => {
  it.each(Object.entries(documents))('%s asks for nothing beyond the schema', (_, document) => {
    expect(validate(schema, parse(document))).toEqual([]);
  });

  it('are told from wrong ones by this test', () => {
    const wrong = documents.APPLICATIONS.replace('hostCount', 'hostsCount');
    expect(validate(schema, parse(wrong)).map(({ message }) => message)).toEqual([
      expect.stringContaining('Cannot query field "hostsCount"'),
    ]);
  });

  it.each(Object.entries(documents))('%s never asks for the key, which the service would echo', (_, document) => {
    expect(document).not.toMatch(/requestContext|apiKey/);
  });
});

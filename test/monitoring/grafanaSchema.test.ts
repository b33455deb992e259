import { resolve } from 'node:path';
import { Ajv, type AnySchema, type ValidateFunction } from 'ajv';
import { createGenerator } from 'ts-json-schema-generator';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { dashboards } from '../../monitoring/dashboards/src/dashboards.ts';

/** Schemas of what Grafana reads, made from the types that it publishes. */
const schemas = createGenerator({
  path: resolve(import.meta.dirname, 'grafanaTypes.ts'),
  tsconfig: resolve(import.meta.dirname, '../../tsconfig.json'),
  skipTypeCheck: true,
  additionalProperties: false,
});

function validatorOf(type: string): ValidateFunction {
  return new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(
    schemas.createSchema(type) as AnySchema,
  );
}

const dashboard = validatorOf('WholeDashboard');
const OPTIONS = new Map([
  ['stat', validatorOf('PanelOfStat')],
  ['table', validatorOf('PanelOfTable')],
  ['timeseries', validatorOf('PanelOfTimeseries')],
]);
const FIELDS = new Map([
  ['table', validatorOf('FieldsOfTable')],
  ['timeseries', validatorOf('FieldsOfTimeseries')],
]);

/** What Grafana writes into every export, of a dashboard and of a variable, and its types do not have. */
const OF_AN_EXPORT = ['__inputs', '__elements', '__requires', 'definition'];

/** What the data source Prometheus reads of an annotation, which the types of the whole leave to it. */
const OF_THE_DATA_SOURCE = ['expr', 'titleFormat', 'useValueForTime'];
const annotation = z
  .looseObject({})
  .transform((all) => Object.fromEntries(Object.entries(all).filter(([key]) => !OF_THE_DATA_SOURCE.includes(key))));

const panels = z.array(
  z.looseObject({
    type: z.string(),
    title: z.string(),
    options: z.unknown().optional(),
    fieldConfig: z.looseObject({ defaults: z.looseObject({ custom: z.unknown().optional() }) }).optional(),
  }),
);
const content = z.looseObject({ panels, annotations: z.looseObject({ list: z.array(annotation).optional() }) });
const imported = z.object({
  __inputs: z.tuple([
    z.object({ name: z.literal('DS_PROMETHEUS'), type: z.literal('datasource'), pluginId: z.literal('prometheus') }),
  ]),
  __requires: z.array(
    z.object({
      type: z.enum(['grafana', 'datasource', 'panel']),
      id: z.string(),
      name: z.string(),
      version: z.string(),
    }),
  ),
  panels: z.array(z.object({ type: z.string() })),
});

/** The faults that a validator finds. */
function faults(validate: ValidateFunction, value: unknown): string[] {
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  );
}

function withoutExport(text: string): z.infer<typeof content> {
  return content.parse(JSON.parse(text, (key, value: unknown) => (OF_AN_EXPORT.includes(key) ? undefined : value)));
}

describe.each(dashboards())("$path fits Grafana's own types", ({ content: text }) => {
  const parsed = withoutExport(text);

  test('as a dashboard', () => {
    expect(faults(dashboard, parsed)).toEqual([]);
  });

  test('with the options and fields of every panel', () => {
    const wrong = parsed.panels
      .filter(({ type }) => type !== 'row')
      .flatMap(({ type, title, options, fieldConfig }) => {
        const validate = OPTIONS.get(type);
        if (validate === undefined) return [`${title}: no type for ${type}`];
        const fields = FIELDS.get(type);
        const custom = fields === undefined ? [] : faults(fields, fieldConfig?.defaults.custom ?? {});
        return [...faults(validate, options ?? {}), ...custom].map((fault) => `${title}: ${fault}`);
      });
    expect(wrong).toEqual([]);
  });

  test('a file to import asks for the data source and names every panel type that it needs', () => {
    const file = imported.parse(JSON.parse(text));
    const needed = file.__requires.filter(({ type }) => type === 'panel').map(({ id }) => id);
    const used = new Set(file.panels.map(({ type }) => type).filter((type) => type !== 'row'));
    expect(new Set(needed)).toEqual(used);
    expect(file.__requires.map(({ type }) => type)).toEqual(expect.arrayContaining(['grafana', 'datasource']));
    expect(text).toContain('"value": "${DS_PROMETHEUS}"');
  });
});

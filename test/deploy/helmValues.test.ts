import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { rowsOf } from '../docs/pages.ts';
import { strictYaml } from '../monitoring/ruleFiles.ts';
import { describeReal } from '../real/support/realPrograms.ts';
import { NEEDED, objectOf, ofKind, Renderer, type Resource } from './helm/chart.ts';
import { podSpec, refusals, type PodSpec } from './helm/restrictedV2.ts';
import { unknownFields, validate } from './kubernetesSchemas.ts';
import { textOf } from './yamlFiles.ts';

type Values = Readonly<Record<string, unknown>>;

const folder = mkdtempSync(join(tmpdir(), 'helm-values-'));
afterAll(() => rmSync(folder, { recursive: true }));
const renderer = new Renderer(folder);

const defaults = objectOf.parse(strictYaml('deploy/helm/values.yaml'));
const schema = objectOf.parse(JSON.parse(textOf('deploy/helm/values.schema.json')));
const fits = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema);
const described = z.record(z.string(), z.looseObject({ properties: objectOf.optional() })).parse(schema['properties']);
const sections = Object.entries(described).flatMap(([name, { properties }]) =>
  properties === undefined || 'namespaceSelector' in properties ? [] : [name],
);

const code = (cell = ''): unknown => parse(/^`(.*)`$/.exec(cell)?.[1] ?? 'null', { version: '1.2' });
const rows = rowsOf(textOf('deploy/helm/README.md')).map(([value = '', byDefault = '', example]) => ({
  path: z.string().parse(code(value)).split('.'),
  byDefault,
  example: code(example),
}));

const PLAIN: Values = { ...NEEDED, serviceAccount: { create: true } };

/** What a value needs to have an effect. */
const NEEDED_FOR: Readonly<Record<string, Values>> = {
  'keys.files': { keys: { existingSecret: null } },
  'dashboards.labels': { dashboards: { enabled: true } },
  'dashboards.annotations': { dashboards: { enabled: true } },
};

const CLUSTERS: readonly (readonly [string, Values])[] = [
  ['a plain cluster', PLAIN],
  ['OpenShift', objectOf.parse(laidOver(strictYaml('deploy/helm/values-openshift.yaml'), PLAIN))],
];

/** Values laid over others as helm lays them: mappings key by key, anything else whole; a null stays, for the chart to see. */
function laidOver(base: unknown, over: unknown): unknown {
  const [under, upper] = [objectOf.safeParse(base), objectOf.safeParse(over)];
  if (!under.success || !upper.success) return over;
  const inner = Object.entries(upper.data).map(([key, value]) => [key, laidOver(under.data[key], value)]);
  return { ...under.data, ...(Object.fromEntries(inner) as Values) };
}

/** The values with another one, or null, at a path. */
function withValue(values: Values, path: readonly string[], value: unknown): Values {
  return objectOf.parse(
    laidOver(
      values,
      path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value),
    ),
  );
}

function valueAt(values: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => objectOf.parse(inner)[key], values);
}

describe('the table of values', () => {
  test('lists every value of the chart in order', () => {
    const paths = Object.keys(defaults).flatMap((name) =>
      sections.includes(name) ? Object.keys(objectOf.parse(defaults[name])).map((key) => `${name}.${key}`) : [name],
    );
    expect(rows.map(({ path }) => path.join('.'))).toEqual(paths);
  });

  test.each(rows.filter(({ byDefault }) => byDefault !== 'Its own'))('has the default of $path', (row) => {
    expect(code(row.byDefault)).toEqual(valueAt(defaults, row.path));
  });
});

await describeReal('the chart with each value of its table', {
  tools: ['go'],
  define: (program) => {
    beforeAll(() => renderer.build(program('go')), 600_000);

    describe.each(CLUSTERS)('on %s', (name, cluster) => {
      test.each(rows.map((row) => ({ ...row, name: row.path.join('.') })))(
        'renders $name as the table says, and without it',
        async ({ path, name: value, example }) => {
          const base = objectOf.parse(laidOver(cluster, NEEDED_FOR[value] ?? {}));
          const [changed, without] = [example, null].map((each) => withValue(base, path, each));
          const outcomes = [await outcome(changed, name), await outcome(without, name)];
          // null is what some values are by default, and others are in the example.
          if (isDeepStrictEqual(outcomes[0], outcomes[1])) outcomes.push(await outcome(base, name));
          expect(outcomes[0]).not.toBeTypeOf('string');
          // A value that changes nothing, given or taken away, would be a dead one.
          expect(new Set(outcomes.map((each) => JSON.stringify(each))).size).toBeGreaterThan(1);
          if (typeof outcomes[1] === 'string')
            expect(outcomes[1]).toMatch(/ (?:image|keys|config)\.\w+ is empty: name /);
        },
      );

      test.each(sections)('renders without the section %s, or says what it needs', async (section) => {
        const without = await outcome(withValue(cluster, [section], null), name);
        if (['image', 'keys', 'config'].includes(section)) expect(without).toMatch(/ is empty: name /);
        else expect(without).not.toBeTypeOf('string');
      });
    });

    test('a null removes one field, or the block', async () => {
      const podWith = async (values: Values) => podOf(await renderer.render({ ...NEEDED, ...values }));
      const seccompProfile = { type: 'RuntimeDefault' };
      const ids = { runAsUser: null, runAsGroup: null, fsGroup: null };
      expect((await podWith({ podSecurityContext: ids })).securityContext).toEqual({
        runAsNonRoot: true,
        seccompProfile,
      });
      expect((await podWith({ podSecurityContext: null })).securityContext).toBeUndefined();
      const [container] = (await podWith({ securityContext: null, resources: null, livenessProbe: null })).containers;
      expect(Object.keys(container ?? {})).toEqual(
        expect.not.arrayContaining(['securityContext', 'resources', 'livenessProbe']),
      );
      expect(container).toHaveProperty('readinessProbe');
    });

    test('the user that the cluster chooses can read the keys without an fsGroup', async () => {
      const modeOf = async (values: Values) =>
        JSON.stringify(podOf(await renderer.render({ ...NEEDED, ...values })).volumes).match(
          /"defaultMode":(\d+)/,
        )?.[1];
      expect(await modeOf({})).toBe(String(0o440));
      expect(await modeOf({ podSecurityContext: { fsGroup: null } })).toBe(String(0o444));
      expect(await modeOf({ podSecurityContext: null })).toBe(String(0o444));
    });

    test.each([
      ['the ports of its egress rules', [{ ports: [{ protocol: 'UDP', port: 5353 }] }], ['Ingress', 'Egress']],
      ['nothing at all', [], ['Ingress', 'Egress']],
      ['everything, without a rule', null, ['Ingress']],
    ])('the network policy lets the exporter reach %s', async (_, egress, policyTypes) => {
      const [policy] = ofKind(await renderer.render({ ...NEEDED, networkPolicy: { egress } }), 'NetworkPolicy');
      expect(policy?.['spec']).toMatchObject({ policyTypes, ...(egress === null ? {} : { egress }) });
      expect('egress' in objectOf.parse(policy?.['spec'])).toBe(egress !== null);
    });

    test('the values for OpenShift fit its policy restricted-v2', async () => {
      expect(refusals(podOf(await renderer.render(NEEDED)))).toEqual(['pod: runAsUser', 'pod: fsGroup']);
      expect(refusals(podOf(await renderer.render({ ...CLUSTERS[1]?.[1] })))).toEqual([]);
    });
  },
});

/** Resources that fit their schemas: most are the same for most values. */
const checked = new Set<string>();
const PLAIN_TEXT = new Set(['ConfigMap', 'Secret', 'PrometheusRule']);

/** The resources, each of which fits its schema and on OpenShift the SCC, or the words of a refusal. */
async function outcome(values: unknown, cluster: string): Promise<readonly Resource[] | string> {
  expect(fits(laidOver(defaults, values)), JSON.stringify(fits.errors)).toBe(true);
  let resources: Resource[];
  try {
    resources = await renderer.render(values);
  } catch (error) {
    return String(error);
  }
  for (const each of resources) {
    const text = JSON.stringify(each);
    if (!checked.has(text)) validate(each);
    if (!checked.has(text) && !PLAIN_TEXT.has(each.kind))
      expect([each.kind, unknownFields(each)]).toEqual([each.kind, []]);
    checked.add(text);
  }
  const pod = podOf(resources);
  if (cluster === 'OpenShift') expect(refusals(pod)).toEqual([]);
  return resources;
}

const deployment = z.object({ spec: z.object({ template: z.object({ spec: podSpec }) }) });

function podOf(resources: readonly Resource[]): PodSpec {
  return deployment.parse(ofKind(resources, 'Deployment')[0]).spec.template.spec;
}

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { GENERATED_FILES } from '../../scripts/generate.ts';
import { ROOT, strictYaml } from '../monitoring/ruleFiles.ts';
import { runCommand } from '../real/support/processes.ts';
import { describeReal } from '../real/support/realPrograms.ts';
import { CHART, documents, NAME, NEEDED, objectOf, ofKind, Renderer, type Resource } from './helm/chart.ts';
import { unknownFields, validate } from './kubernetesSchemas.ts';
import { deployEntries, deployFiles, textOf } from './yamlFiles.ts';

const { version } = z.object({ version: z.string() }).parse(JSON.parse(textOf('package.json')));

const folder = mkdtempSync(join(tmpdir(), 'helm-'));
afterAll(() => rmSync(folder, { recursive: true }));

const renderer = new Renderer(folder);
const rendered = (changes: unknown, chart?: string): Promise<Resource[]> => renderer.render(changes, chart);
const values = objectOf.parse(strictYaml('deploy/helm/values.yaml'));
const schema = objectOf.parse(JSON.parse(textOf('deploy/helm/values.schema.json')));

describe('the chart', () => {
  const fits = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema);

  test('has the version of the package, as the other files for Kubernetes have', () => {
    expect(strictYaml('deploy/helm/Chart.yaml')).toMatchObject({ name: NAME, version, appVersion: version });
    expect(textOf('deploy/kubernetes/kustomization.yaml')).toContain(`newTag: ${version}\n`);
  });

  test('has a schema that covers and accepts each of its values', () => {
    expect(fits(values), JSON.stringify(fits.errors)).toBe(true);
    const described = z.record(z.string(), z.looseObject({ properties: objectOf.optional() }));
    const known = Object.entries(described.parse(schema['properties'])).filter(([name]) => name !== 'global');
    expect(known.map(([name]) => name)).toEqual(Object.keys(values));
    for (const [name, { properties }] of known) {
      if (properties !== undefined) expect(Object.keys(properties)).toEqual(Object.keys(objectOf.parse(values[name])));
    }
  });

  test.each([
    ['a misspelt value', { imagePullPolicy: 'Always' }],
    ['a misspelt value inside', { scrape: { intervall: '1m' } }],
    ['an unknown mode of scraping', { scrape: { mode: 'podMonitor' } }],
    ['a duration without a unit', { scrape: { interval: '60' } }],
    ['a configuration without accounts', { config: {} }],
    ['an unknown key of the configuration', { config: { accounts: [{}], collections: {} } }],
    ['a digest that is not a digest', { image: { repository: 'a', digest: 'latest' } }],
    ['an address of dashboards without a scheme', { links: { dashboardUrl: 'grafana.example' } }],
    ['an egress rule that is not an object', { networkPolicy: { egress: [53] } }],
    ['a label without a text', { podLabels: { team: 1 } }],
  ])('refuses %s', (_, values) => {
    expect(fits(values)).toBe(false);
  });

  test('accepts the top-level keys of the configuration, and its default values are a valid configuration', () => {
    const configuration = objectOf.parse(JSON.parse(textOf('docs/configuration.schema.json')));
    const config = objectOf.parse(objectOf.parse(schema['properties'])['config']);
    expect(Object.keys(objectOf.parse(config['properties']))).toEqual(
      Object.keys(objectOf.parse(configuration['properties'])),
    );
    const whole = new Ajv({ strict: false, validateFormats: false }).compile(configuration);
    expect(whole(values['config']), JSON.stringify(whole.errors)).toBe(true);
  });
});

describe('the files of deploy/', () => {
  test('are no symbolic links, which clones on Windows and archives of Flux lose', () => {
    const others = deployEntries().filter((entry) => !entry.isDirectory() && !entry.isFile());
    expect(others.map(({ name }) => name)).toEqual([]);
  });

  test('in the chart are all generated from monitoring/', () => {
    const generated = new Set(GENERATED_FILES.map(({ path }) => path));
    const folder = 'deploy/helm/files/';
    expect(deployFiles().filter((path) => path.startsWith(folder) && !generated.has(path))).toEqual([]);
    expect(generated).toContain(`${folder}rules/alerts.yaml`);
  });
});

await describeReal('the chart, rendered by the template engine that helm uses', {
  tools: ['go'],
  define: (program) => {
    beforeAll(() => renderer.build(program('go')), 600_000);

    test.each([
      ['with its own values', NEEDED],
      ['with a secret of its own', withKey('NRAK-1')],
      ['with everything', EVERYTHING],
      ['with little', { ...NEEDED, scrape: { mode: 'none' }, prometheusRule: OFF, networkPolicy: OFF }],
    ])('fits the published schemas, %s', async (_, values) => {
      const resources = await rendered(values);
      expect(resources.length).toBeGreaterThan(2);
      for (const each of resources) {
        validate(each);
        if (each.kind !== 'ConfigMap' && each.kind !== 'Secret' && each.kind !== 'PrometheusRule') {
          expect([each.kind, unknownFields(each)]).toEqual([each.kind, []]);
        }
      }
      const names = resources.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      expect(new Set(names).size).toBe(names.length);
    });

    test('mounts volumes from the values, such as files of queries', async () => {
      const volume = { name: 'queries', configMap: { name: 'new-relic-queries' } };
      const mount = { name: 'queries', mountPath: '/etc/newrelic-apm-exporter-queries', readOnly: true };
      const resources = await rendered({ ...NEEDED, extraVolumes: [volume], extraVolumeMounts: [mount] });
      const containers = [{ volumeMounts: expect.arrayContaining([mount]) as unknown }];
      const pod = { containers, volumes: expect.arrayContaining([volume]) as unknown };
      expect(ofKind(resources, 'Deployment')).toMatchObject([{ spec: { template: { spec: pod } } }]);
    });

    test('restarts the pod for a changed configuration, but not for a changed key', async () => {
      const podOf = async (key: string, values: object = {}) =>
        ofKind(await rendered({ ...withKey(key), ...values }), 'Deployment')[0]?.['spec'];
      const first = await podOf('NRAK-1');
      expect(await podOf('NRAK-2')).toEqual(first);
      expect(await podOf('NRAK-1', { config: { collection: { window: '6m' } } })).not.toEqual(first);
    });

    test('lets the probes and Prometheus use TLS where it is on, and the probes send no password', async () => {
      const resources = await rendered(EVERYTHING);
      const pod = JSON.stringify(ofKind(resources, 'Deployment'));
      expect(pod.match(/"httpGet":\{[^}]*\}/g)).toEqual(
        ['healthy', 'ready'].map((path) => `"httpGet":{"path":"/-/${path}","port":"http","scheme":"HTTPS"}`),
      );
      expect(pod).toContain('"--web.config.file=/run/secrets/newrelic-apm-exporter-web/web.yaml"');
      expect(ofKind(resources, 'ServiceMonitor')).toMatchObject([
        { spec: { endpoints: [{ scheme: 'https', basicAuth: {}, params: { 'collect[]': ['exporter'] } }] } },
      ]);
      const httpSDConfigs = [{ url: `https://${NAME}.monitored.svc:9126/sd`, basicAuth: {}, tlsConfig: {} }];
      expect(ofKind(resources, 'ScrapeConfig')).toMatchObject([
        { spec: { jobName: 'newrelic-apm-exporter-applications', scheme: 'HTTPS', basicAuth: {}, httpSDConfigs } },
      ]);
    });

    test('has every dashboard unchanged in a ConfigMap that Grafana finds', async () => {
      const all = ofKind(await rendered(EVERYTHING), 'ConfigMap');
      const maps = all.filter(({ metadata }) => metadata.name.includes('dashboard'));
      const found = maps.flatMap((map) => Object.entries(z.record(z.string(), z.string()).parse(map['data'])));
      const files = readdirSync(join(ROOT, 'monitoring/dashboards')).filter((name) => name.endsWith('.json'));
      expect(found.map(([name]) => name).toSorted()).toEqual(files.map((name) => `newrelic-apm-${name}`).toSorted());
      for (const [name, text] of found) {
        const path = `monitoring/dashboards/${name.replace('newrelic-apm-', '')}`;
        expect(JSON.parse(text), name).toEqual(JSON.parse(textOf(path)));
      }
      expect(maps[0]?.metadata).toMatchObject({ labels: { grafana_dashboard: '1' } });
    });

    test.each(deployFiles().filter((path) => path.startsWith('deploy/helm/files/')))(
      'fails, and names the file, where %s is missing or empty',
      async (file) => {
        const copy = join(folder, 'copy');
        const path = join(copy, file.slice('deploy/helm/'.length));
        const words = new RegExp(`${file.slice('deploy/helm/'.length)} is missing or empty`);
        for (const spoil of [truncateSync, rmSync]) {
          cpSync(CHART, copy, { recursive: true });
          spoil(path);
          await expect(rendered(EVERYTHING, copy)).rejects.toThrow(words);
        }
      },
    );

    test('fails where a file of rules has no rules, as a symbolic link checked out as text', async () => {
      const copy = join(folder, 'copy');
      cpSync(CHART, copy, { recursive: true });
      writeFileSync(join(copy, 'files/rules/alerts.yaml'), '../../../../monitoring/rules/alerts.yaml');
      await expect(rendered(NEEDED, copy)).rejects.toThrow(/alerts\.yaml has no groups of rules/);
    });

    test('renders the same from files with the line ends of Windows', async () => {
      const copy = join(folder, 'windows');
      cpSync(CHART, copy, { recursive: true });
      for (const path of deployFiles().filter((each) => each.startsWith('deploy/helm/'))) {
        writeFileSync(join(copy, path.slice('deploy/helm/'.length)), textOf(path).replaceAll('\n', '\r\n'));
      }
      expect(await rendered(EVERYTHING, copy)).toEqual(await rendered(EVERYTHING));
    });

    test('adds labels and annotations from the values, which cannot replace the labels that select the pods', async () => {
      const labelsOfUser = {
        'app.kubernetes.io/name': 'other',
        'app.kubernetes.io/component': 'other',
        grafana_dashboard: 'no',
      };
      const note = { 'checksum/config': 'x', team: 'payments' };
      const changes = {
        ...EVERYTHING,
        labels: labelsOfUser,
        podLabels: { ...labelsOfUser, team: 'payments' },
        podAnnotations: note,
      };
      const resources = await rendered(changes);
      for (const { metadata } of resources)
        expect(metadata).toMatchObject({ labels: { 'app.kubernetes.io/name': NAME } });
      const labels = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/instance': NAME, team: 'payments' };
      const annotations = { 'checksum/config': expect.stringMatching(/^[0-9a-f]{64}$/) as unknown, team: 'payments' };
      const template = { metadata: { labels, annotations } };
      expect(ofKind(resources, 'Deployment')).toMatchObject([{ spec: { template } }]);
    });

    test('links alerts to the Grafana and the runbooks of the values, and dashboards to the runbooks', async () => {
      const links = { dashboardUrl: 'https://grafana.example/g/', runbookUrl: 'https://wiki.example/alerts' };
      const resources = await rendered({ ...EVERYTHING, links });
      const rules = JSON.stringify(ofKind(resources, 'PrometheusRule'));
      const alerts = rules.match(/"alert":/g)?.length ?? 0;
      expect(alerts).toBeGreaterThan(30);
      expect(rules.match(/"dashboard_url":"https:\/\/grafana\.example\/g\/d\/newrelic-apm-/g)).toHaveLength(alerts);
      expect(rules.match(/"runbook_url":"https:\/\/wiki\.example\/alerts#newrelic/g)).toHaveLength(alerts);
      expect(JSON.stringify(resources)).not.toContain('docs/alerts.md#');
      expect(JSON.stringify(ofKind(resources, 'ConfigMap'))).toContain('https://wiki.example/alerts#');
      expect(ofKind(await rendered({ ...NEEDED, links: null }), 'PrometheusRule')).toEqual(
        ofKind(await rendered(NEEDED), 'PrometheusRule'),
      );
    });

    test.each([
      ['two secrets', { ...NEEDED, keys: { ...NEEDED.keys, ...withKey('NRAK-1').keys } }, /exclude each other/],
      ['no image, which would never start', { keys: NEEDED.keys }, /image\.repository is empty: name the place/],
      [
        'no key where the configuration reads one from the mounted secret',
        { image: NEEDED.image },
        /keys\.existingSecret is empty: name a secret .* user key under the key "api-key"/,
      ],
    ])('refuses %s, and says what to set', async (_, values, words) => {
      await expect(rendered(values)).rejects.toThrow(words);
    });
  },
});

await describeReal('the chart and the kustomization', {
  tools: ['go', 'kubectl'],
  define: (program) => {
    beforeAll(async () => {
      await renderer.build(program('go'));
      cpSync(join(ROOT, 'deploy/kubernetes'), join(folder, 'kubernetes'), { recursive: true });
      cpSync(join(ROOT, 'deploy/openshift'), join(folder, 'openshift'), { recursive: true });
      writeFileSync(join(folder, 'kubernetes/api-key.txt'), 'NRAK-1');
    }, 600_000);

    test.each([
      ['in a plain cluster', 'kubernetes', {}],
      ['on OpenShift', 'openshift', objectOf.parse(strictYaml('deploy/helm/values-openshift.yaml'))],
    ])('render the same for equal values, %s', async (_, name, values) => {
      const chart = await rendered({ ...values, ...withKey('NRAK-1') });
      const kustomized = await kustomize(name);
      const kinds = kustomized.map(({ kind }) => kind).filter((kind) => kind !== 'Namespace');
      expect(chart.map(({ kind }) => kind).toSorted()).toEqual(kinds.toSorted());
      for (const kind of kinds) {
        expect(ofKind(chart, kind).map(comparable), kind).toEqual(ofKind(kustomized, kind).map(comparable));
      }
    });

    test('render the same with TLS once the comment signs are removed', async () => {
      const file = join(folder, 'kubernetes/kustomization.yaml');
      const text = readFileSync(file, 'utf8');
      const [before = '', patches = ''] = text.split(/^(?=# patches:)/m);
      writeFileSync(file, before + patches.replaceAll(/^# ?/gm, ''));
      const kustomized = await kustomize();
      writeFileSync(file, text);
      const chart = await rendered({ ...NEEDED, web: { tls: true } });
      const monitors = [chart, kustomized].map((all) => ofKind(all, 'ServiceMonitor').map(comparable));
      expect(monitors[0]).toEqual(monitors[1]);
      const probes = (resources: readonly Resource[]) =>
        JSON.stringify(ofKind(resources, 'Deployment').map(comparable))
          .match(/"httpGet":\{[^}]*\}/g)
          ?.map((each) => JSON.parse(`{${each}}`) as unknown);
      expect(probes(chart)).toEqual(probes(kustomized));
      expect(JSON.stringify(ofKind(kustomized, 'Deployment'))).toContain('"--web.config.file=');
    });

    async function kustomize(name = 'kubernetes'): Promise<Resource[]> {
      const args = ['kustomize', join(folder, name)] as const;
      const { status, stdout, stderr } = await runCommand([...program('kubectl').command, ...args]);
      expect([status, stderr]).toEqual([0, '']);
      return documents(stdout);
    }
  },
});

const OFF = { enabled: false };

/** A secret that the chart makes, in place of one of the user. */
function withKey(key: string) {
  return { ...NEEDED, keys: { files: { 'api-key': key } } };
}

const EVERYTHING = {
  image: { ...NEEDED.image, digest: `sha256:${'a'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  labels: { release: 'kube-prometheus-stack' },
  podAnnotations: { 'example.com/team': 'payments' },
  keys: { existingSecret: 'new-relic' },
  web: { existingSecret: 'web', tls: true },
  extraArgs: ['--log.format=json'],
  extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy.example:3128' }],
  nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  affinity: { podAntiAffinity: {} },
  scrape: {
    mode: 'scrapeConfig',
    tlsConfig: { insecureSkipVerify: true },
    basicAuth: { username: { name: 'login', key: 'user' }, password: { name: 'login', key: 'password' } },
  },
  dashboards: { enabled: true, annotations: { grafana_folder: 'New Relic APM' } },
  serviceAccount: { create: true, annotations: { 'example.com/team': 'payments' } },
  networkPolicy: { egress: [{ ports: [{ protocol: 'TCP', port: 3128 }] }] },
};

/** Labels and annotations that only one of the two tools writes. */
const OF_A_TOOL = new Set([
  'app.kubernetes.io/instance',
  'app.kubernetes.io/version',
  'app.kubernetes.io/managed-by',
  'helm.sh/chart',
  'checksum/config',
]);

/** A resource without what only the tool brings: its labels, its namespace, the hash in a name, and the default policy. */
function comparable(value: unknown): unknown {
  const clean = (inner: unknown, key = ''): unknown => {
    if (Array.isArray(inner)) return inner.map((each) => clean(each));
    if (typeof inner === 'string') {
      if (key === 'config.yaml') return parse(inner) as unknown;
      return inner.replace(new RegExp(`^(${NAME})-[a-z0-9]{10}$`), '$1');
    }
    if (typeof inner !== 'object' || inner === null) return inner;
    const pairs = Object.entries(inner)
      .filter(([name]) => !OF_A_TOOL.has(name) && name !== 'namespace' && name !== 'imagePullPolicy')
      .map(([name, each]: [string, unknown]): [string, unknown] => [name, clean(each, name)]);
    return Object.fromEntries(
      pairs.filter(([name, each]) => name !== 'annotations' || Object.keys(each ?? {}).length > 0),
    );
  };
  return clean(value);
}

import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { prometheusRule } from '../../monitoring/generated.ts';
import { loadConfig } from '../../src/config/load.ts';
import { ROOT, strictYaml } from '../monitoring/ruleFiles.ts';
import { deployFiles, textOf } from './yamlFiles.ts';

const FOLDER = 'deploy/kubernetes';
const NAME = 'newrelic-apm-exporter';
const labels = z.record(z.string(), z.string());
const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string(), port: z.string() }),
  periodSeconds: z.number(),
  timeoutSeconds: z.number(),
  failureThreshold: z.number().optional(),
});
const deployment = z.object({
  spec: z.object({
    replicas: z.literal(1),
    strategy: z.object({ type: z.literal('Recreate') }),
    selector: z.object({ matchLabels: labels }),
    template: z.object({
      metadata: z.object({ labels }),
      spec: z.object({
        automountServiceAccountToken: z.literal(false),
        securityContext: z.object({
          runAsNonRoot: z.literal(true),
          runAsUser: z.number().positive(),
          seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
        }),
        containers: z.tuple([
          z.object({
            image: z.string(),
            args: z.array(z.string()),
            ports: z.tuple([z.object({ name: z.string(), containerPort: z.number() })]),
            livenessProbe: probe,
            readinessProbe: probe,
            resources: z.object({ requests: labels, limits: labels }),
            securityContext: z.object({
              allowPrivilegeEscalation: z.literal(false),
              readOnlyRootFilesystem: z.literal(true),
              capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
            }),
            volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string(), readOnly: z.literal(true) })),
          }),
        ]),
        volumes: z.array(
          z.object({
            name: z.string(),
            configMap: z.object({ name: z.string() }).optional(),
            secret: z.object({ secretName: z.string(), defaultMode: z.number() }).optional(),
          }),
        ),
      }),
    }),
  }),
});
const kustomization = z.strictObject({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  namespace: z.string(),
  images: z.array(z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })),
  labels: z.array(z.strictObject({ pairs: labels, includeSelectors: z.literal(false) })),
  resources: z.array(z.string()),
  configMapGenerator: z.tuple([z.strictObject({ name: z.literal(NAME), files: z.array(z.string()) })]),
  secretGenerator: z.tuple([
    z.strictObject({
      name: z.literal(NAME),
      type: z.literal('Opaque'),
      files: z.array(z.string()),
      // With a hash in its name, a changed key would be another Secret, which only a new pod mounts.
      options: z.strictObject({ disableNameSuffixHash: z.literal(true) }),
    }),
  ]),
});
const { spec } = deployment.parse(strictYaml(`${FOLDER}/deployment.yaml`));
const pod = spec.template.spec;
const [container] = pod.containers;

describe('the deployment', () => {
  test('selects its own pods', () => {
    expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
  });

  test('is probed on the paths that the exporter has and the port that is named', () => {
    const [port] = container.ports;
    expect(port).toEqual({ name: 'http', containerPort: 9126 });
    expect(container.livenessProbe.httpGet).toEqual({ path: '/-/healthy', port: port.name });
    expect(container.readinessProbe.httpGet).toEqual({ path: '/-/ready', port: port.name });
  });

  test('may use as much memory as the largest fleet that the configuration allows was measured to need', () => {
    expect(container.resources).toMatchObject({ requests: { memory: '192Mi' }, limits: { memory: '640Mi' } });
  });

  test('mounts what it declares, the configuration and the secret', () => {
    expect(container.volumeMounts.map(({ name }) => name)).toEqual(pod.volumes.map(({ name }) => name));
    expect(pod.volumes.map(({ configMap, secret }) => configMap?.name ?? secret?.secretName)).toEqual([NAME, NAME]);
    expect(pod.volumes.at(-1)?.secret?.defaultMode).toBe(0o440);
  });

  test('starts with a configuration that is valid and reads the mounted key', () => {
    const path = `${FOLDER}/config.yaml`;
    const loaded = loadConfig({ path: resolve(ROOT, path), text: textOf(path) }, {});
    const configMount = container.volumeMounts[0]?.mountPath;
    const secretMount = container.volumeMounts[1]?.mountPath;
    expect(container.args).toEqual(['serve', `--config.file=${configMount}/config.yaml`]);
    expect('config' in loaded && loaded.config.accounts[0]).toMatchObject({
      api: 'nerdgraph',
      region: 'us',
      api_key_file: `${secretMount}/api-key`,
    });
    expect('config' in loaded && loaded.config.collection.window).toBe(300_000);
  });
});

describe('what is around it', () => {
  const service = strictYaml(`${FOLDER}/service.yaml`);
  const monitor = strictYaml(`${FOLDER}/servicemonitor.yaml`);

  test('the service leads to the pods, and the monitor to the service', () => {
    expect(service).toMatchObject({
      metadata: { labels: spec.selector.matchLabels },
      spec: { selector: spec.selector.matchLabels, ports: [{ name: 'http', port: 9126, targetPort: 'http' }] },
    });
    expect(monitor).toMatchObject({
      spec: { selector: { matchLabels: spec.selector.matchLabels }, endpoints: [{ port: 'http' }] },
    });
  });

  test("the monitor gives the job that the alert looks for and keeps the exporter's own label endpoint", () => {
    expect(spec.selector.matchLabels['app.kubernetes.io/name']).toBe(NAME);
    expect(monitor).toMatchObject({
      spec: {
        jobLabel: 'app.kubernetes.io/name',
        endpoints: [{ relabelings: [{ action: 'labeldrop', regex: 'endpoint' }] }],
      },
    });
  });

  test('the namespace refuses pods that ask for rights', () => {
    const namespace = z.object({ metadata: z.object({ labels }) }).parse(strictYaml(`${FOLDER}/namespace.yaml`));
    const modes = ['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
    expect(namespace.metadata.labels).toEqual(Object.fromEntries(modes));
  });

  test('only Prometheus reaches the exporter, which reaches only names and HTTPS', () => {
    const prometheus = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
    const ports = [
      { protocol: 'UDP', port: 53 },
      { protocol: 'TCP', port: 53 },
      { protocol: 'TCP', port: 443 },
    ];
    expect(strictYaml(`${FOLDER}/networkpolicy.yaml`)).toMatchObject({
      spec: {
        podSelector: { matchLabels: spec.selector.matchLabels },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ from: [prometheus], ports: [{ protocol: 'TCP', port: container.ports[0].name }] }],
        egress: [{ ports }],
      },
    });
  });

  test('the rules are those of monitoring/rules, word for word', () => {
    expect(textOf(prometheusRule().path)).toBe(prometheusRule().content);
    const groups = ['recording.yaml', 'alerts.yaml', 'packs.yaml'].map((file) =>
      strictYaml(`monitoring/rules/${file}`),
    );
    const file = z.object({ groups: z.array(z.unknown()) });
    expect(strictYaml(`${FOLDER}/prometheusrule.yaml`)).toEqual({
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: { name: NAME },
      spec: { groups: groups.flatMap((content) => file.parse(content).groups) },
    });
  });

  test('the labels of the exporter stay its own', () => {
    expect(monitor).toMatchObject({ spec: { endpoints: [{ honorLabels: true }] } });
  });

  test('the kustomization has every resource, the image, the namespace and the secret', () => {
    const { resources, namespace, images, configMapGenerator, secretGenerator } = kustomization.parse(
      strictYaml(`${FOLDER}/kustomization.yaml`),
    );
    const used = [...resources, ...configMapGenerator[0].files].map((path) => `${FOLDER}/${path}`);
    const present = deployFiles().filter((path) => path.startsWith(FOLDER) && path !== `${FOLDER}/kustomization.yaml`);
    expect(used.toSorted()).toEqual(present.filter((path) => !path.endsWith('.txt')));
    expect(strictYaml(`${FOLDER}/namespace.yaml`)).toMatchObject({ metadata: { name: namespace } });
    expect(images[0]?.name).toBe(container.image);
    // A registry of the user's: an unqualified name would be looked for in a public one.
    expect(images[0]?.newName).toMatch(/^[^/]+\.[^/]+\/.+$/);
    expect(secretGenerator[0].files).toEqual(['api-key=api-key.txt']);
    expect(textOf('.gitignore').split('\n')).toContain('api-key.txt');
  });

  test('the label that kube-prometheus-stack selects is there to be switched on', () => {
    expect(textOf(`${FOLDER}/kustomization.yaml`)).toMatch(/^ +# release: kube-prometheus-stack$/m);
  });
});

import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config/load.ts';
import { ROOT, strictYaml } from '../monitoring/ruleFiles.ts';
import { unknownFields, validate } from './kubernetesSchemas.ts';
import { deployFiles, textOf } from './yamlFiles.ts';

const FOLDER = 'deploy/kubernetes';
const NAME = 'newrelic-apm-exporter';
const OWN = { 'app.kubernetes.io/name': NAME };
const kustomization = z
  .object({
    namespace: z.string(),
    images: z.tuple([z.object({ name: z.string(), newName: z.string() })]),
    resources: z.array(z.string()),
    configMapGenerator: z.tuple([z.object({ files: z.array(z.string()) })]),
  })
  .parse(strictYaml(`${FOLDER}/kustomization.yaml`));

test.each(kustomization.resources)('%s fits the published schema of its kind, without unknown fields', (file) => {
  const resource = strictYaml(`${FOLDER}/${file}`);
  validate(resource);
  expect(unknownFields(resource)).toEqual([]);
});

test('the pod never runs twice at once, has no unneeded rights, and has probes that the exporter answers', () => {
  const probe = (path: string) => ({ httpGet: { path, port: 'http' } });
  expect(strictYaml(`${FOLDER}/deployment.yaml`)).toMatchObject({
    spec: {
      replicas: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: OWN },
      template: {
        metadata: { labels: OWN },
        spec: {
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              image: kustomization.images[0].name,
              args: ['serve', '--config.file=/etc/newrelic-apm-exporter/config.yaml'],
              ports: [{ name: 'http', containerPort: 9126 }],
              livenessProbe: probe('/-/healthy'),
              readinessProbe: probe('/-/ready'),
              // Of the largest fleet that the configuration allows (docs/performance.md).
              resources: { limits: { memory: '640Mi' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              volumeMounts: [
                { name: 'config', mountPath: '/etc/newrelic-apm-exporter' },
                { name: 'api-key', mountPath: '/run/secrets/newrelic-apm-exporter' },
              ],
            },
          ],
          volumes: [
            { name: 'config', configMap: { name: NAME } },
            { name: 'api-key', secret: { secretName: NAME, defaultMode: 0o440 } },
          ],
        },
      },
    },
  });
});

test('the configuration is valid and reads the mounted key', () => {
  const path = `${FOLDER}/config.yaml`;
  expect(loadConfig({ path: resolve(ROOT, path), text: textOf(path) }, {})).toMatchObject({
    config: {
      accounts: [{ api: 'nerdgraph', region: 'us', api_key_file: '/run/secrets/newrelic-apm-exporter/api-key' }],
      collection: { window: 300_000 },
    },
  });
});

describe('the resources around the pod', () => {
  test('select the pod by the service, and the service by the monitor, with the job and the labels of the alerts', () => {
    expect(strictYaml(`${FOLDER}/service.yaml`)).toMatchObject({
      metadata: { labels: OWN },
      spec: { selector: OWN, ports: [{ name: 'http', port: 9126, targetPort: 'http' }] },
    });
    const relabelings = [{ action: 'labeldrop', regex: 'endpoint' }];
    expect(strictYaml(`${FOLDER}/servicemonitor.yaml`)).toMatchObject({
      spec: {
        jobLabel: 'app.kubernetes.io/name',
        selector: { matchLabels: OWN },
        endpoints: [{ port: 'http', honorLabels: true, relabelings }],
      },
    });
  });

  test('make the namespace refuse pods that ask for rights', () => {
    const modes = ['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
    expect(strictYaml(`${FOLDER}/namespace.yaml`)).toMatchObject({
      metadata: { name: kustomization.namespace, labels: Object.fromEntries(modes) as object },
    });
  });

  test('let only Prometheus reach the exporter, and the exporter only DNS and HTTPS', () => {
    const prometheus = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
    const ports = [
      { protocol: 'UDP', port: 53 },
      { protocol: 'TCP', port: 53 },
      { protocol: 'TCP', port: 443 },
    ];
    expect(strictYaml(`${FOLDER}/networkpolicy.yaml`)).toMatchObject({
      spec: {
        podSelector: { matchLabels: OWN },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ from: [prometheus], ports: [{ protocol: 'TCP', port: 'http' }] }],
        egress: [{ ports }],
      },
    });
  });

  test('are all in the kustomization, with an image to set and a secret outside of commits', () => {
    const used = [...kustomization.resources, ...kustomization.configMapGenerator[0].files, 'kustomization.yaml'];
    const present = deployFiles().filter((path) => path.startsWith(FOLDER) && !path.endsWith('.txt'));
    expect(used.map((path) => `${FOLDER}/${path}`).toSorted()).toEqual(present);
    // With a hash in its name, a changed key would be another secret, which only a new pod mounts.
    const secret = { files: ['api-key=api-key.txt'], options: { disableNameSuffixHash: true } };
    expect(strictYaml(`${FOLDER}/kustomization.yaml`)).toMatchObject({ secretGenerator: [secret] });
    // An unqualified name would be looked for in a public registry.
    expect(kustomization.images[0].newName).toMatch(/^[^/]+\.[^/]+\/.+$/);
    expect(textOf('.gitignore').split('\n')).toContain('api-key.txt');
  });
});

import { expect, test } from 'vitest';
import { HOME } from '../../src/cli/version.ts';
import { strictYaml } from '../monitoring/ruleFiles.ts';
import { deployFiles, textOf } from './yamlFiles.ts';

/** Templates of the chart become YAML only when they are rendered, JSON has no comments, and pages say it in prose. */
const isTemplate = (path: string): boolean => path.includes('/templates/');
const hasHead = (path: string): boolean => !isTemplate(path) && !/\.(json|md)$/.test(path);

test.each([...deployFiles().filter(hasHead), 'Dockerfile'])('%s says in its first lines what to edit', (path) => {
  const head = /^(?:#.*\n)+/.exec(textOf(path))?.[0] ?? '';
  expect(head).toMatch(/^# Edit: \S/m);
});

test.each(deployFiles().filter((path) => path.endsWith('.yaml') && !isTemplate(path)))('%s is strict YAML', (path) => {
  expect(strictYaml(path)).toBeTypeOf('object');
});

test('the files name the project address of package.json', () => {
  expect(textOf('Dockerfile')).toContain(`org.opencontainers.image.source="${HOME}"`);
  expect(textOf('deploy/systemd/newrelic-apm-exporter.service')).toContain(`\nDocumentation=${HOME}\n`);
  expect(textOf('package.json')).toContain(`"url": "git+${HOME}.git"`);
  expect(textOf('deploy/helm/Chart.yaml')).toContain(`\nhome: ${HOME}\n`);
});

test.each([
  ['README.md', /docker run [\s\S]{1,80}-e NEW_RELIC_API_KEY -e NEW_RELIC_REGION -e NEW_RELIC_ACCOUNT_ID/],
  ['deploy/systemd/newrelic-apm-exporter.service', /region: us\n/],
])('%s names the region of the account', (path, words) => {
  expect(textOf(path)).toMatch(words);
});

test('the unit says how to check a configuration whose key comes from systemd', () => {
  const unit = textOf('deploy/systemd/newrelic-apm-exporter.service');
  expect(unit).toMatch(/^# Check: {3}sudo CREDENTIALS_DIRECTORY=\S+ node \S+ check /m);
  expect(unit).toContain('configuration (mode 0644');
});

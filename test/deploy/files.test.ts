import { expect, test } from 'vitest';
import { HOME } from '../../src/cli/version.ts';
import { strictYaml } from '../monitoring/ruleFiles.ts';
import { deployFiles, textOf } from './yamlFiles.ts';

test.each([...deployFiles(), 'Dockerfile'])('%s says in its head what to edit', (path) => {
  const head = /^(?:#.*\n)+/.exec(textOf(path))?.[0] ?? '';
  expect(head).toMatch(/^# Edit: \S/m);
});

test.each(deployFiles().filter((path) => path.endsWith('.yaml')))('%s is strict YAML', (path) => {
  expect(strictYaml(path)).toBeTypeOf('object');
});

test('the address of the project is that of package.json', () => {
  expect(textOf('Dockerfile')).toContain(`org.opencontainers.image.source="${HOME}"`);
  expect(textOf('deploy/systemd/newrelic-apm-exporter.service')).toContain(`\nDocumentation=${HOME}\n`);
  expect(textOf('package.json')).toContain(`"url": "git+${HOME}.git"`);
});

import { expect, test } from 'vitest';
import { strictYaml } from '../monitoring/ruleFiles.ts';
import { deployFiles, textOf } from './yamlFiles.ts';

test.each([...deployFiles(), 'Dockerfile'])('%s names the command that validated it', (path) => {
  expect(textOf(path)).toMatch(/^# (Validated with: .+|.*; Validated with: .+)$/m);
});

test.each(deployFiles().filter((path) => path.endsWith('.yaml')))('%s is strict YAML', (path) => {
  expect(strictYaml(path)).toBeTypeOf('object');
});

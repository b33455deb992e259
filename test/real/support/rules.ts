import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { inFolder } from '../../support/folder.ts';
import { run, type Finished } from './processes.ts';
import type { RealProgram } from './realPrograms.ts';

/** What `promtool test rules` says of files of tests, given as values; the paths in them are absolute. */
export function testRules(promtool: RealProgram, tests: readonly object[]): Promise<Finished> {
  return inFolder((folder) => {
    const files = tests.map((file, index) => {
      const path = join(folder, `${index}.yaml`);
      writeFileSync(path, stringify(file, { lineWidth: 0 }));
      return path;
    });
    return run(promtool, ['test', 'rules', ...files], { limit: 600_000 });
  });
}

/** The shipped recording rules, evaluated every second. */
export function quickRecordingRules(): string {
  return rules('recording.yaml').replaceAll('interval: 1m', 'interval: 1s');
}

/** The shipped recording rules and alerts of service levels, evaluated every second. */
export function quickServiceLevels(): string {
  return rules('slo.yaml').replaceAll('interval: 1m', 'interval: 1s');
}

function rules(file: string): string {
  return readFileSync(new URL(`../../../monitoring/rules/${file}`, import.meta.url), 'utf8');
}

/** The shipped alerts with nothing changed but how long they wait and how far they look back. */
export function quickRules(): string {
  return rules('alerts.yaml')
    .replace(/^(\s+for:) \w+$/gm, '$1 1s')
    .replaceAll('[5m]', '[5s]');
}

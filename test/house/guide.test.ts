import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';

const PARTS = ['src', 'simulator', 'test', 'packs', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

/** A copy of the parts that the tests of metrics need, which is removed after the test. */
function copyOfTree(): string {
  const folder = mkdtempSync(join(tmpdir(), 'guide-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const part of PARTS) cpSync(part, join(folder, part), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
}

test('the example of a window metric in the guide passes with its row, its public name and its value', () => {
  const [, example = ''] = /^ *```ts\n([^]*?)^ *```$/m.exec(readFileSync('CONTRIBUTING.md', 'utf8')) ?? [];
  const [, suffix = ''] = /suffix: '(.*)'/.exec(example) ?? [];
  const [, metric = ''] = /reads: \['(.*)'\]/.exec(example) ?? [];
  expect([suffix, metric]).not.toContain('');
  const folder = copyOfTree();
  const insert = (file: string, before: string, text: string): void => {
    const path = join(folder, file);
    const [head, ...rest] = readFileSync(path, 'utf8').split(before);
    expect(rest.length, before).toBeGreaterThan(0);
    writeFileSync(path, `${head}${text}${before}${rest.join(before)}`);
  };
  insert('src/metrics/windowFamilies.ts', "windowRow(scope, {\n      suffix: 'memory_used_bytes'", example);
  insert('test/metrics/catalogue.test.ts', "  'memory_used_bytes',\n", `  '${suffix}',\n`);
  const input = `  '${metric}': { call_count: 40, average_response_time: 250 },\n`;
  insert('test/metrics/window.test.ts', "  'CPU/User Time': { percent", input);
  insert('test/metrics/window.test.ts', '    cpu_usage_ratio: 1.5', `    ${suffix}: 0.25,\n`);

  const files = ['test/metrics', 'test/collect/refresh.test.ts', 'test/exposition'];
  const vitest = resolve('node_modules/vitest/vitest.mjs');
  const { status, stdout } = spawnSync(process.execPath, [vitest, 'run', '--project=quick', ...files], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect({ status, failed: stdout.match(/^.*(?:FAIL|Error:).*$/gm) }).toEqual({ status: 0, failed: null });
});

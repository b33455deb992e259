import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';

const PARTS = [
  'src',
  'simulator',
  'test',
  'packs',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
  'vitest.quick.config.ts',
];

/** A copy of the parts that the tests of metrics need, which is removed after the test. */
function copyOfTree(): string {
  const folder = mkdtempSync(join(tmpdir(), 'guide-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const part of PARTS) cpSync(part, join(folder, part), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Adds the example of the guide to a copy, as far as it is not there: who follows the guide to the letter has it in the tree. */
function addExample(folder: string, example: string, suffix: string, metric: string): void {
  const insert = (file: string, sign: string, before: string, text: string): void => {
    const path = join(folder, file);
    const content = readFileSync(path, 'utf8');
    if (content.includes(sign)) return;
    const [head, ...rest] = content.split(before);
    expect(rest.length, before).toBeGreaterThan(0);
    writeFileSync(path, `${head}${text}${before}${rest.join(before)}`);
  };
  const row = "createWindowRow(scope, {\n      suffix: 'memory_used_bytes'";
  insert('src/metrics/windowFamilies.ts', `suffix: '${suffix}'`, row, example);
  insert('test/metrics/catalogue.test.ts', `'${suffix}'`, "  'memory_used_bytes',\n", `  '${suffix}',\n`);
  const input = `  '${metric}': { call_count: 40, average_response_time: 250 },\n`;
  insert('test/metrics/window.test.ts', `'${metric}':`, "  'CPU/User Time': { percent", input);
  insert('test/metrics/window.test.ts', `${suffix}:`, '    cpu_usage_ratio: 1.5', `    ${suffix}: 0.25,\n`);
}

/** How much of a run that fails is shown, in characters from its end. */
const SHOWN = 4_000;

test('the guide’s example of a window metric works with its row, its public name and its value', () => {
  const [, example = ''] = /^ *```ts\n([^]*?)^ *```$/m.exec(readFileSync('CONTRIBUTING.md', 'utf8')) ?? [];
  const [, suffix = ''] = /suffix: '(.*)'/.exec(example) ?? [];
  const [, metric = ''] = /reads: \['(.*)'\]/.exec(example) ?? [];
  expect([suffix, metric]).not.toContain('');
  const folder = copyOfTree();
  addExample(folder, example, suffix, metric);
  // The second time it is there already.
  addExample(folder, example, suffix, metric);

  const files = ['test/metrics', 'test/collect/refresh.test.ts'];
  const vitest = resolve('node_modules/vitest/vitest.mjs');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [vitest, 'run', '--config=vitest.quick.config.ts', '--maxWorkers=1', ...files],
    {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
    },
  );
  const end = `${stdout}${stderr}`.slice(-SHOWN);
  expect(status, `the tests of the copy failed; the end of their output:\n${end}`).toBe(0);
  expect(stdout.match(/^.*(?:FAIL|Error:).*$/gm)).toBeNull();
});

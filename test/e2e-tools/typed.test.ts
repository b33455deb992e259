import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { temporaryFolders } from '../config/folder.ts';
import { NODE } from '../e2e/support/program.ts';
import { simulatorForTest } from '../support/simulator.ts';

const CLONE = resolve(import.meta.dirname, '../..');
const newFolder = temporaryFolders();
const run = promisify(execFile);

/** Ways to start the built program: the working directory, the file of the program, and what the user types for both. */
const WAYS: readonly [name: string, prepare: () => { cwd: string; file: string; path?: string; typed: string }][] = [
  ['in a clone', () => ({ cwd: CLONE, file: 'dist/main.js', typed: `${NODE} dist/main.js` })],
  [
    'as a command linked by npm',
    () => {
      const folder = join(newFolder(), 'bin');
      mkdirSync(folder);
      const file = join(folder, 'newrelic-apm-exporter');
      symlinkSync(join(CLONE, 'dist/main.js'), file);
      return { cwd: folder, file, path: folder, typed: 'newrelic-apm-exporter' };
    },
  ],
];

describe.each(WAYS)('the program, started %s', (_, prepare) => {
  it('prints examples that work as typed', async () => {
    const { cwd, file, path, typed } = prepare();
    for (const command of ['check', 'backfill', 'compare', 'init']) {
      const { stdout } = await run(NODE, [file, command, '--help'], { cwd, env: { PATH: path } });
      expect(stdout.split('Examples:\n')[1]).toContain(`  ${typed} ${command}`);
      if (typed !== 'newrelic-apm-exporter') expect(stdout).not.toMatch(/^ +newrelic-apm-exporter /m);
    }
  });

  it('prints after init the next commands, which work as typed', async () => {
    const { url } = await simulatorForTest();
    const { cwd, file, path, typed } = prepare();
    const output = join(newFolder(), 'config.yaml');
    const args = [file, 'init', `--base-url=${url}/graphql`, `--output=${output}`];
    const { stdout } = await run(NODE, args, { cwd, env: { PATH: path, NEW_RELIC_API_KEY: DEMO_API_KEY } });
    expect(stdout).toContain(` Next: ${typed} check --live --config.file=${output}\n`);
  });
});

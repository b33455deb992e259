import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { runCommand } from '../real/support/processes.ts';
import { eventually } from '../support/eventually.ts';
import { inFolder } from '../support/folder.ts';
import { runProgram } from './support/program.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const BUILD = ['--import', 'tsx', 'scripts/build.ts'];
const SOURCE = 'src/main.ts';

/** Runs the body with a copy of the sources and of the built program: other tests run that of the checkout. */
function inCopy(body: (folder: string) => Promise<void>): Promise<void> {
  return inFolder((folder) => {
    for (const path of ['package.json', 'tsconfig.json', 'scripts', 'src', 'simulator', 'packs', 'dist'])
      cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    // What only the last program has.
    writeFileSync(join(folder, 'dist/last'), '');
    return body(folder);
  });
}

const build = (cwd: string) => runCommand([process.execPath, ...BUILD], { cwd });
const temporary = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('dist.'));
const isLast = (folder: string): boolean => existsSync(join(folder, 'dist/last'));

async function expectProgram(folder: string): Promise<void> {
  const { status, output } = await runProgram(['--version'], { main: join(folder, 'dist/main.js') });
  expect([status, output]).toEqual([0, expect.stringContaining('newrelic-apm-exporter')]);
}

test('a killed build keeps the last program, and the next build removes the remains', () =>
  inCopy(async (folder) => {
    // The build waits for the rest of a pipe.
    const source = join(folder, SOURCE);
    rmSync(source);
    expect(await runCommand(['mkfifo', source])).toMatchObject({ status: 0 });
    const slow = spawn(process.execPath, BUILD, { cwd: folder, stdio: 'ignore' });
    const ended = once(slow, 'exit');
    // Opens only once the build reads.
    const pipe = await eventually(() => openSync(source, constants.O_WRONLY | constants.O_NONBLOCK));
    try {
      const remains = `dist.${String(slow.pid)}.new`;
      expect(temporary(folder)).toEqual([remains]);
      await expectProgram(folder);

      // Another build leaves the folder alone while its build runs.
      rmSync(source);
      copyFileSync(join(ROOT, SOURCE), source);
      expect(await build(folder)).toMatchObject({ status: 0 });
      expect(isLast(folder)).toBe(false);
      expect(temporary(folder)).toEqual([remains]);
    } finally {
      slow.kill('SIGKILL');
      await ended;
      closeSync(pipe);
    }
    await expectProgram(folder);
    expect(await build(folder)).toMatchObject({ status: 0 });
    await expectProgram(folder);
    expect(temporary(folder)).toEqual([]);
  }));

test('a failed build keeps the last program and leaves no other files', () =>
  inCopy(async (folder) => {
    writeFileSync(join(folder, SOURCE), 'const = 1;');
    expect(await build(folder)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('src/main.ts:1:6') as string,
    });
    await expectProgram(folder);
    expect(isLast(folder)).toBe(true);
    expect(temporary(folder)).toEqual([]);
  }));

test('builds at the same time all succeed and leave one of their programs', () =>
  inCopy(async (folder) => {
    const builds = await Promise.all([build(folder), build(folder)]);
    expect(builds.map(({ status, stderr }) => [status, stderr])).toEqual(builds.map(() => [0, '']));
    await expectProgram(folder);
    expect(isLast(folder)).toBe(false);
    expect(temporary(folder)).toEqual([]);
  }));

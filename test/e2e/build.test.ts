import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { runCommand } from '../real/support/processes.ts';
import { eventually } from '../support/eventually.ts';
import { inFolder } from '../support/folder.ts';
import { runProgram } from './support/program.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const BUILD = ['--import', 'tsx', 'scripts/build.ts'];
const SOURCE = 'src/main.ts';

/** A program that is built in a moment: how large it is makes no difference to what a build leaves. */
const FILES = {
  [SOURCE]: "console.log('new');",
  'src/web/authentication/passwordWorker.ts': '',
  'dist/main.js': "console.log('last');",
};

/** Runs the body with a small program and the build script: other tests run the program of the checkout. */
function inSmallProject(body: (folder: string) => Promise<void>): Promise<void> {
  return inFolder((folder) => {
    const schema = 'simulator/nerdgraph/nerdgraph.graphql';
    for (const path of ['package.json', 'tsconfig.json', 'scripts/build.ts', schema, 'packs'])
      cpSync(join(ROOT, path), join(folder, path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return body(folder);
  });
}

const build = (cwd: string) => runCommand([process.execPath, ...BUILD], { cwd });
const temporary = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('dist.'));

/** What the program of a folder says of itself. */
async function said(folder: string): Promise<string> {
  const { status, output } = await runProgram([], { main: join(folder, 'dist/main.js') });
  expect(status, output).toBe(0);
  return output.trim();
}

test('a killed build keeps the last program, and the next build removes the remains', () =>
  inSmallProject(async (folder) => {
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
      expect(await said(folder)).toBe('last');

      // Another build leaves the folder alone while its build runs.
      rmSync(source);
      writeFileSync(source, FILES[SOURCE]);
      expect(await build(folder)).toMatchObject({ status: 0 });
      expect(await said(folder)).toBe('new');
      expect(temporary(folder)).toEqual([remains]);
    } finally {
      slow.kill('SIGKILL');
      await ended;
      closeSync(pipe);
    }
    expect(await said(folder)).toBe('new');
    expect(await build(folder)).toMatchObject({ status: 0 });
    expect(await said(folder)).toBe('new');
    expect(temporary(folder)).toEqual([]);
  }));

test('a failed build keeps the last program and leaves no other files', () =>
  inSmallProject(async (folder) => {
    writeFileSync(join(folder, SOURCE), 'const = 1;');
    expect(await build(folder)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('src/main.ts:1:6') as string,
    });
    expect(await said(folder)).toBe('last');
    expect(temporary(folder)).toEqual([]);
  }));

test('builds at the same time all succeed and leave one of their programs', () =>
  inSmallProject(async (folder) => {
    const builds = await Promise.all([build(folder), build(folder)]);
    expect(builds.map(({ status, stderr }) => [status, stderr])).toEqual(builds.map(() => [0, '']));
    expect(await said(folder)).toBe('new');
    expect(temporary(folder)).toEqual([]);
  }));

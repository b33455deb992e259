import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { account, configText } from '../e2e/support/config.ts';
import { COMPILED, NODE } from '../e2e/support/program.ts';
import { simulatorForFile } from '../support/simulator.ts';

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');
const LIMIT_MS = 120_000;

/** Help, an output written at once, one written bit by bit, and a command that continues after its output. */
const COMMANDS: readonly (readonly [string, ...string[]])[] = [
  ['--help'],
  ['discover'],
  ['backfill', '--from=20m', '--to=10m'],
  ['demo', '--web.listen-address=127.0.0.1:0'],
];

const simulator = await simulatorForFile({ applications: 2, hostsPerApplication: 1 });
const folder = mkdtempSync(join(tmpdir(), 'output-'));
writeFileSync(join(folder, 'config.yaml'), configText({ accounts: [account(simulator)] }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the program with a standard output that takes nothing: a file descriptor, or a pipe that its reader has closed. */
async function run(args: readonly string[], stdout: number | 'closed') {
  const child = spawn(NODE, [MAIN, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...COMPILED },
    stdio: ['ignore', stdout === 'closed' ? 'pipe' : stdout, 'pipe'],
  });
  child.stdout?.destroy();
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const kill = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const [status] = (await once(child, 'close')) as [number | null];
  clearTimeout(kill);
  // The demo has the exporter's log on standard error, backfill says there what it is about to read, and on a busy machine
  // a command shows there how far it is.
  const notes = /^(?:time=.*level=info.*|Applications: .*|reading .*\]\s.*|)\n/gm;
  return { status, stderr: stderr.replace(notes, '') };
}

describe.concurrent('standard output', () => {
  it.each(COMMANDS)('ends %s %s quietly where its reader has closed it', async (...args) => {
    expect(await run(args, 'closed')).toEqual({ status: 0, stderr: '' });
  });

  it.for(COMMANDS)('ends %s %s with one line on a full disk', async (args, { skip }) => {
    skip(!existsSync('/dev/full'), 'this system has no /dev/full');
    expect(await run(args, openSync('/dev/full', 'w'))).toEqual({
      status: 1,
      stderr: 'error: standard output cannot be written: no space left on device (ENOSPC)\n',
    });
  });
});

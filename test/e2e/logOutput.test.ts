import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { until } from '../real/support/until.ts';
import { configText } from './support/config.ts';
import { COMPILED, NODE } from './support/program.ts';

const MAIN = resolve('dist/main.js');
const VALID = configText({ accounts: [{ name: 'one', api_key: 'NRAK-ONE', region: 'us' }] });
/** Faults of a reload are lines with the name of the file: a long one fills the log soon. */
const INVALID = Array.from({ length: 12 }, (_, index) => `unknown_${index}: 1\n`).join('');
const RELOADS = 20;

const root = mkdtempSync(join(tmpdir(), 'log-output-'));
const started: ChildProcess[] = [];

afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
  rmSync(root, { recursive: true });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A built exporter with this standard error, whose log is filled by reloads until lines are dropped. */
async function overflowingExporter(stderr: 'pipe' | number) {
  const folder = join(mkdtempSync(join(root, 'exporter-')), ...Array.from({ length: 10 }, () => 'f'.repeat(200)));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'config.yaml');
  writeFileSync(file, VALID);
  const port = await freePort();
  const flags = ['serve', `--config.file=${file}`, `--web.listen-address=127.0.0.1:${port}`, '--web.enable-lifecycle'];
  const env = { PATH: process.env['PATH'], ...COMPILED };
  const child = spawn(NODE, [MAIN, ...flags], { env, stdio: ['ignore', 'ignore', stderr] });
  started.push(child);
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  const address = `http://127.0.0.1:${port}`;
  const get = async (path: string, method = 'GET'): Promise<string> =>
    (await fetch(`${address}${path}`, { method, signal: AbortSignal.timeout(5_000) })).text();
  const isUp = () =>
    get('/-/healthy').then(
      () => true,
      () => false,
    );
  await until('the exporter to answer', isUp);
  const dropped = async (): Promise<number> =>
    Number(/^newrelic_exporter_log_lines_dropped_total (\d+)$/m.exec(await get('/metrics?collect[]=exporter'))?.[1]);
  return {
    child,
    ended,
    dropped,
    fill: async (): Promise<void> => {
      writeFileSync(file, INVALID);
      // Reloads one after another: a megabyte takes dozens of them.
      await until('lines to be dropped', async () => {
        for (let reload = 0; reload < RELOADS; reload += 1) await get('/-/reload', 'POST');
        return (await dropped()) > 0;
      });
    },
  };
}

/** Resident memory of a process, in MB. */
function memory(pid: number | undefined): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

test.concurrent(
  'a stalled log reader delays neither answers nor SIGTERM, and the log counts the lost lines once it reads again',
  async () => {
    const { child, ended, fill, dropped } = await overflowingExporter('pipe');
    await fill();
    expect(memory(child.pid)).toBeLessThan(300);
    let log = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text));
    await until('the loss to be said', () => log.includes('Lost log lines'));
    expect(log.match(/Lost log lines.* lines=\d+\n/g)).toHaveLength(1);
    expect(log).toContain(`lines=${await dropped()}\n`);
    child.stderr?.pause();
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  },
);

test.concurrent('SIGTERM ends the exporter with status 0 within 5 seconds while nobody reads the log', async () => {
  const { child, ended, fill } = await overflowingExporter('pipe');
  await fill();
  const before = performance.now();
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(performance.now() - before).toBeLessThan(5_000);
});

test.concurrent('a full disk under the log delays no answer', async () => {
  const full = openSync('/dev/full', 'w');
  const { child, ended, fill } = await overflowingExporter(full);
  closeSync(full);
  await fill();
  expect(memory(child.pid)).toBeLessThan(300);
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test.concurrent('a closed pipe of the log delays no answer', async () => {
  const { child, ended, fill } = await overflowingExporter('pipe');
  child.stderr?.destroy();
  await fill();
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

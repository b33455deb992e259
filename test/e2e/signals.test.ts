import { constants, tmpdir } from 'node:os';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstChild } from '../real/support/firstProcess.ts';
import { findProgram } from '../real/support/realPrograms.ts';
import { skippedName } from '../real/support/skipMark.ts';
import { until } from '../real/support/until.ts';
import { configText } from './support/config.ts';
import { NODE, runProgram, startProgram, type Program } from './support/program.ts';

const ROOT = resolve(import.meta.dirname, '../..');
let folder: string;
const started: Program[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signals-'));
  writeFileSync(
    join(folder, 'config.yaml'),
    configText({ accounts: [{ name: 'one', api_key: 'NRAK-ONE', base_url: 'http://127.0.0.1:9/graphql' }] }),
  );
});

afterAll(async () => {
  for (const program of started) program.signal('SIGKILL');
  await Promise.all(started.map(({ ended }) => ended));
  rmSync(folder, { recursive: true });
});

/** Rows of the table of signals in docs/operations.md: the signals, their effect, and their effect on PID 1. */
const TABLE = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `SIG'))
  .map((line) => {
    const [, first = '', effect = '', onFirst = ''] = line.split('|').map((cell) => cell.trim());
    return { signals: [...first.matchAll(/`(SIG\w+)`/g)].map(([, name = '']) => name), effect, onFirst };
  });

const REAL_TIME: Readonly<Record<string, number>> = { SIGRTMIN: 34, SIGRTMAX: 64 };

function numberOf(name: string): number {
  return REAL_TIME[name] ?? (constants.signals as Readonly<Record<string, number>>)[name] ?? 0;
}

/** The signals whose default action is not to kill the process, as in signal(7). */
const KILLS_NOTHING = /^SIG(?:CHLD|CONT|STOP|TSTP|TTIN|TTOU|URG|WINCH)$/;

/** What the system says of a process: whether it catches a signal, whether that kills it, and whether it is suspended. */
function stateOf(pid: number) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const has = (set: string, name: string): boolean => {
    const [, bits = '0'] = new RegExp(`^${set}:\\s*(\\w+)$`, 'm').exec(status) ?? [];
    return ((BigInt(`0x${bits}`) >> BigInt(numberOf(name) - 1)) & 1n) === 1n;
  };
  const catches = (name: string) => has('SigCgt', name);
  return {
    catches,
    isKilledBy: (name: string) =>
      !KILLS_NOTHING.test(name) && !catches(name) && !has('SigIgn', name) && !has('SigBlk', name),
    isSuspended: /^State:\s*T/m.test(status),
  };
}

const unshare = await findProgram('unshare', 'stable');

/** Starts the exporter, as PID 1 of a namespace where `asFirst`; `pid` takes the signals. */
async function startServing(asFirst: boolean, flags: readonly string[] = []) {
  const inNamespace = (path: string) => ({
    node: path,
    nodeArgs: ['--pid', '--fork', '--kill-child', '--mount-proc', NODE],
  });
  const program = startProgram({
    args: ['serve', '--web.listen-address=127.0.0.1:0', '--log.level=debug', ...flags],
    cwd: folder,
    ...(asFirst && 'program' in unshare ? inNamespace(unshare.program.path) : {}),
  });
  started.push(program);
  const pid = asFirst ? await firstChild(program.pid) : program.pid;
  return { ...program, pid };
}

async function answers(program: Program): Promise<boolean> {
  const [, port] = await program.said(/Listening.*127\.0\.0\.1:(\d+)/);
  return (await fetch(`http://127.0.0.1:${port}/-/healthy`)).ok;
}

/** What the table calls an effect, tried with one signal on an exporter that listens. True if it ended. */
async function tryEffect(effect: string, name: string, exporter: Program): Promise<boolean> {
  // The system says so without killing it, which would need the start of another one.
  if (effect === 'killed' && stateOf(exporter.pid).isKilledBy(name)) return false;
  const before = exporter.output().length;
  const news = (): string => exporter.output().slice(before);
  process.kill(exporter.pid, numberOf(name));
  if (effect.startsWith('stops')) {
    expect([name, await exporter.ended]).toEqual([name, { status: 0, signal: null }]);
    expect(news()).toContain(`msg="Shutting down" signal=${name}`);
    return true;
  }
  if (effect.startsWith('killed')) {
    await exporter.ended;
    expect([name, news()]).toEqual([name, expect.not.stringContaining('msg=')]);
    return true;
  }
  if (effect === 'reloads') {
    await until('a reload', () => news().includes('msg="Configuration reloaded" trigger=SIGHUP'));
  } else if (effect === 'ignored, a line at debug') {
    await until('a line', () => news().includes(`level=debug msg="Ignoring this signal" signal=${name}`));
  } else if (effect.startsWith('suspended')) {
    if (name === 'SIGSTOP') await until('the process to be suspended', () => stateOf(exporter.pid).isSuspended);
    process.kill(exporter.pid, 'SIGCONT');
  } else {
    expect([name, effect]).toEqual([name, expect.stringMatching(/^ignored(?:; a real crash still ends it)?$/)]);
  }
  expect([name, await answers(exporter)]).toEqual([name, true]);
  return false;
}

/** Exporters that take the next signal of the table side by side: most of the time they start. */
const SIDE_BY_SIDE = 4;

async function tryRows(column: 'effect' | 'onFirst', asFirst: boolean): Promise<void> {
  const untried = TABLE.flatMap(({ signals, ...row }) => signals.map((name) => ({ name, effect: row[column] })));
  const tryNext = async (): Promise<void> => {
    let exporter: Program | undefined;
    for (let next = untried.shift(); next !== undefined; next = untried.shift()) {
      exporter ??= await startServing(asFirst);
      await exporter.said(/Listening/);
      if (await tryEffect(next.effect, next.name, exporter)) exporter = undefined;
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, tryNext));
}

describe('signals', () => {
  test('the documentation names each signal of this system once', () => {
    const names = Object.keys(constants.signals).filter((name) => !/^SIG(?:IOT|POLL|UNUSED)$/.test(name));
    expect(TABLE.flatMap(({ signals }) => signals).toSorted()).toEqual(
      [...names, ...Object.keys(REAL_TIME)].toSorted(),
    );
  });

  test.concurrent('each signal has the effect that the documentation says', () => tryRows('effect', false));

  const asFirst = 'each signal has the effect on PID 1 that the documentation says';
  const problem = 'problem' in unshare ? unshare.problem : undefined;
  if (problem !== undefined && process.env['REQUIRE_REAL'] === '1') throw new Error(problem);
  const name = problem === undefined ? asFirst : skippedName(asFirst, problem);
  test(name, { concurrent: true, skip: problem !== undefined }, () => tryRows('onFirst', true));
});

describe('signals while the program loads', () => {
  const once = async (name: NodeJS.Signals, program: Program): Promise<void> => {
    // Node.js itself catches others; the program catches this one last.
    await until('the program to listen for signals', () => stateOf(program.pid).catches('SIGUSR2'));
    expect(program.output()).toBe('');
    program.signal(name);
  };

  test('SIGHUP reloads after the start', async () => {
    const exporter = await startServing(false);
    await once('SIGHUP', exporter);
    await exporter.said(/Listening[^]*msg="Configuration reloaded" trigger=SIGHUP/);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('%s stops the exporter with status 0', async (name) => {
    const exporter = await startServing(false);
    await once(name, exporter);
    expect(await exporter.ended).toEqual({ status: 0, signal: null });
    expect(exporter.output()).toContain(`signal=${name}`);
  });

  test.each(['SIGHUP', 'SIGINT', 'SIGTERM'] as const)('%s ends another command', async (name) => {
    const command = startProgram({ args: ['discover', '--config.file=/dev/stdin'] });
    await once(name, command);
    expect(await command.ended).toMatchObject({ signal: name });
  });

  test('the program handles signals before it loads large modules', () => {
    const dist = join(ROOT, 'dist');
    const text = readFileSync(join(dist, 'main.js'), 'utf8');
    const files = [...text.matchAll(/\bimport(?:\{[^}]*\}from)?"\.\/([^"]+)"/g)].map(([, file = '']) => file);
    const bytes = ['main.js', ...files].reduce((sum, file) => sum + statSync(join(dist, file)).size, 0);
    expect([files.length > 0, bytes]).toEqual([true, expect.any(Number)]);
    expect(bytes).toBeLessThan(10_000);
  });
});

test('SIGUSR1 never opens the debugger, in any command', async () => {
  const script = `process.on('exit', () => {}); setImmediate(() => process.kill(process.pid, 'SIGUSR1'));`;
  const { status, output } = await runProgram(['completion', 'bash'], {
    nodeArgs: [`--import=data:text/javascript,${encodeURIComponent(script)}`],
  });
  expect([status, output]).toEqual([0, expect.not.stringContaining('Debugger')]);
});

import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CACHE_FOLDER } from '../../real/support/debianPackages.ts';
import { findProgram } from '../../real/support/realPrograms.ts';
import { ProgramEnded, until } from '../../real/support/until.ts';
import { parseText, type ParsedFamily } from '../../support/exposition.ts';
import { configText, type ConfigInput } from './config.ts';

/** The built program; `npm test` builds it first. */
const MAIN = resolve(import.meta.dirname, '../../../dist/main.js');

/** The newest Node.js that is supported, which the image runs too; the tests in process run on the oldest. */
export const NODE = await newestNode();

async function newestNode(): Promise<string> {
  const found = await findProgram('node24', 'stable');
  if ('program' in found) return found.program.path;
  process.stderr.write(`The built program is tried on ${process.version}: ${found.problem}\n`);
  return process.execPath;
}

/** Where Node.js keeps what it has compiled: hundreds of starts would compile the same program. */
export const COMPILED = { NODE_COMPILE_CACHE: join(CACHE_FOLDER, 'compiled') };

export interface ProgramOptions {
  readonly args?: readonly string[];
  /** The whole environment but for PATH. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Flags of Node itself. */
  readonly nodeArgs?: readonly string[];
  /** Another copy of the program, and another Node.js. */
  readonly main?: string;
  readonly node?: string;
}

/** How a process ended. */
export interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of the built program. */
export interface Program {
  readonly pid: number;
  /** Everything it has written so far, standard output and standard error together. */
  output(): string;
  /** Everything it has written so far to each of the two. */
  readonly written: { readonly stdout: string; readonly stderr: string };
  /** Waits until it has written this; rejects at once when it ends before. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

export interface ExporterOptions extends ProgramOptions {
  /** Written to config.yaml in the exporter's folder; without it, no file is named on the command line. */
  readonly config?: ConfigInput | string;
  readonly flags?: readonly string[];
  /** Further files of its folder. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A running exporter. */
export interface Exporter extends Program {
  /** Base address without a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly folder: string;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Body of a path that answers 200. */
  text(path: string, headers?: Readonly<Record<string, string>>): Promise<string>;
  /** A scrape, read strictly. A scraper with a timeout announces it, in seconds. */
  scrape(path?: string, within?: number): Promise<ParsedFamily[]>;
  /** Replaces config.yaml. */
  writeConfig(config: ConfigInput | string): void;
  /** Ends the process and removes its folder; safe to call twice. */
  stop(): Promise<Ended>;
}

/** Starts the program and collects what it writes. */
export function startProgram(options: ProgramOptions): Program {
  const child: ChildProcess = spawn(
    options.node ?? NODE,
    [...(options.nodeArgs ?? []), options.main ?? MAIN, ...(options.args ?? [])],
    {
      cwd: options.cwd ?? tmpdir(),
      env: { PATH: process.env['PATH'], ...COMPILED, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  if (child.pid === undefined) throw new Error('the program could not be started');
  let output = '';
  const written = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      written[stream] += text;
    });
  }
  let isOver = false;
  const ended = new Promise<Ended>((done) =>
    child.once('close', (status, signal) => {
      isOver = true;
      done({ status, signal });
    }),
  );
  const said = (pattern: RegExp): Promise<RegExpExecArray> =>
    until(`the program to say ${String(pattern)}`, () => {
      const found = pattern.exec(output);
      if (found === null && isOver) throw new ProgramEnded(`it ended and said: ${output}`);
      return found ?? undefined;
    });
  return { pid: child.pid, output: () => output, written, said, signal: (name) => void child.kill(name), ended };
}

/** How a command ended, and what it has written. */
export interface Run extends Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly output: string;
}

/** Runs a command of the program to its end, in an empty folder unless told otherwise; rejects when it does not end. */
export async function runProgram(
  args: readonly string[],
  options: Omit<ProgramOptions, 'args'> & {
    /** Written to config.yaml in the empty folder. */
    readonly config?: ConfigInput | string;
    /** Interrupts the program as ctrl-C does, once this is true. */
    readonly interruptOnce?: (program: Program) => boolean;
    /** Milliseconds after which the program is killed. */
    readonly limit?: number;
  } = {},
): Promise<Run> {
  const { config, interruptOnce, limit = 120_000 } = options;
  const folder = mkdtempSync(join(tmpdir(), 'e2e-'));
  if (config !== undefined) writeFileSync(join(folder, 'config.yaml'), configText(config));
  const program = startProgram({ cwd: folder, ...options, args });
  const kill = setTimeout(() => program.signal('SIGKILL'), limit);
  const interrupt = setInterval(() => {
    if (interruptOnce?.(program) !== true) return;
    clearInterval(interrupt);
    program.signal('SIGINT');
  }, 20);
  try {
    const ended = await program.ended;
    if (ended.signal === 'SIGKILL') throw new Error(`did not end within ${limit / 1000} s: ${program.output()}`);
    return { ...ended, ...program.written, output: program.output() };
  } finally {
    clearTimeout(kill);
    clearInterval(interrupt);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts an exporter on a free loopback port and waits until it listens. */
export async function startExporter(options: ExporterOptions): Promise<Exporter> {
  const folder = mkdtempSync(join(tmpdir(), 'e2e-'));
  const configFile = join(folder, 'config.yaml');
  const writeConfig = (config: ConfigInput | string): void => writeFileSync(configFile, configText(config));
  for (const [name, text] of Object.entries(options.files ?? {})) writeFileSync(join(folder, name), text);
  if (options.config !== undefined) writeConfig(options.config);
  const program = startProgram({
    cwd: folder,
    ...options,
    args: [
      ...(options.args ?? []),
      ...(options.config === undefined ? [] : [`--config.file=${configFile}`]),
      '--web.listen-address=127.0.0.1:0',
      ...(options.flags ?? []),
    ],
  });
  const stop = async (): Promise<Ended> => {
    program.signal('SIGTERM');
    const kill = setTimeout(() => program.signal('SIGKILL'), 60_000);
    const ended = await program.ended;
    clearTimeout(kill);
    rmSync(folder, { recursive: true, force: true });
    return ended;
  };
  let hasEnded = false;
  void program.ended.then(() => (hasEnded = true));
  try {
    const [, port, scheme] = await program.said(/Listening.*127\.0\.0\.1:(\d+).*\bscheme"?[=:]"?(https?)\b/);
    const url = `${scheme}://127.0.0.1:${port}`;
    const get = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> => {
      if (hasEnded) throw new ProgramEnded(`the exporter has ended: ${program.output()}`);
      return fetch(`${url}${path}`, { headers });
    };
    const text = async (path: string, headers?: Readonly<Record<string, string>>): Promise<string> => {
      const response = await get(path, headers);
      const body = await response.text();
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${body.slice(0, 400)}`);
      return body;
    };
    const scrape = async (path = '/metrics', within?: number): Promise<ParsedFamily[]> =>
      parseText(await text(path, within ? { 'X-Prometheus-Scrape-Timeout-Seconds': String(within) } : {}));
    return { ...program, url, port: Number(port), folder, get, text, scrape, writeConfig, stop };
  } catch (error) {
    await stop();
    throw new Error(`the exporter did not start: ${String(error)}`, { cause: error });
  }
}

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { RealProgram } from './realPrograms.ts';
import { ProgramEnded, until } from './until.ts';

/** How much of the log of a program that has ended is shown, in characters. */
const SHOWN = 4_000;

export interface RunningServer {
  /** Base address on loopback, with a path of its own and without a slash at the end. */
  readonly url: string;
  /** Its own folder: configuration, other files, data. */
  readonly folder: string;
  /** Asks for a path; rejects with a ProgramEnded once the process has ended. */
  get(path: string): Promise<Response>;
  /** Sends a signal, such as SIGHUP for a reload. */
  signal(name: NodeJS.Signals): void;
  /** Ends the process by its id and removes the folder; safe to call twice. */
  readonly stop: () => Promise<void>;
}

export interface ServerFiles {
  /** The configuration file's text. */
  readonly config: string;
  /** Further files, by path relative to the configuration's folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** Further command line flags. */
  readonly flags?: readonly string[];
}

/** One series of an instant query. */
export interface QueriedSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface PrometheusServer extends RunningServer {
  /** Instant query; `time` in Unix seconds, now when absent. Rejects with the server's words when it refuses. */
  query(expression: string, time?: number): Promise<QueriedSample[]>;
  /** Waits until the query gives series, and gives them back. */
  some(expression: string): Promise<QueriedSample[]>;
  /** The `data` of any API path, such as `/api/v1/targets`. */
  api(path: string): Promise<unknown>;
}

/** Starts Prometheus on a free loopback port and waits until it is ready. */
export async function startPrometheus(program: RealProgram, serverFiles: ServerFiles): Promise<PrometheusServer> {
  const server = await startServer(program, serverFiles, (folder) => [
    `--config.file=${folder}/config.yml`,
    `--storage.tsdb.path=${folder}/data`,
    '--web.enable-lifecycle',
  ]);
  const api = async (path: string): Promise<unknown> => {
    const response = await server.get(path);
    const body: unknown = await response.json();
    const read = API.safeParse(body);
    if (read.success) return read.data.data;
    throw new Error(`${path} answered ${response.status}: ${JSON.stringify(body)}`);
  };
  const query: PrometheusServer['query'] = async (expression, time) => {
    const parameters = new URLSearchParams({ query: expression, ...(time !== undefined && { time: String(time) }) });
    const data = VECTOR.parse(await api(`/api/v1/query?${parameters.toString()}`));
    return data.result.map(({ metric, value: [, value] }) => ({ labels: metric, value }));
  };
  const some: PrometheusServer['some'] = (expression) =>
    until(`series of ${expression}`, async () => {
      const found = await query(expression);
      return found.length > 0 && found;
    });
  return { ...server, api, query, some };
}

/** Starts Prometheus as an agent, which scrapes and sends, and waits until it is ready. */
export function startAgent(program: RealProgram, serverFiles: ServerFiles): Promise<RunningServer> {
  return startServer(program, serverFiles, (folder) => [
    program.version.startsWith('2.') ? '--enable-feature=agent' : '--agent',
    `--config.file=${folder}/config.yml`,
    `--storage.agent.path=${folder}/data`,
  ]);
}

/** Starts Alertmanager, without clustering, on a free loopback port and waits until it is ready. */
export function startAlertmanager(program: RealProgram, serverFiles: ServerFiles): Promise<RunningServer> {
  return startServer(program, serverFiles, (folder) => [
    `--config.file=${folder}/config.yml`,
    `--storage.path=${folder}/data`,
    '--cluster.listen-address=',
  ]);
}

/**
 * Another process may take the free port before the program does: then the program ends, and is started again on another.
 * A program that ends for a reason of its own ends each time, and says the same.
 */
async function startServer(
  program: RealProgram,
  serverFiles: ServerFiles,
  flags: (folder: string) => readonly string[],
): Promise<RunningServer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startOnce(program, serverFiles, flags);
    } catch (error) {
      if (tries === 3 || !String(error).includes('address already in use')) throw error;
    }
  }
}

async function startOnce(
  program: RealProgram,
  serverFiles: ServerFiles,
  flags: (folder: string) => readonly string[],
): Promise<RunningServer> {
  const folder = mkdtempSync(join(tmpdir(), `${program.tool}-`));
  for (const [path, text] of Object.entries({ 'config.yml': serverFiles.config, ...serverFiles.files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const port = await freePort();
  // A path that no other server has: whoever answers there is the program that was started here.
  const prefix = `/${randomBytes(8).toString('hex')}`;
  const url = `http://127.0.0.1:${port}${prefix}`;
  const web = [`--web.listen-address=127.0.0.1:${port}`, `--web.route-prefix=${prefix}`];
  const [file, ...surrounding] = program.command;
  const child = spawn(file, [...surrounding, ...flags(folder), ...web, ...(serverFiles.flags ?? [])], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (log += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  child.on('error', (error) => (log += String(error)));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));

  const running = (): boolean => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  const stop = async (): Promise<void> => {
    const kill = setTimeout(() => child.kill('SIGKILL'), 10_000);
    child.kill('SIGTERM');
    if (child.pid !== undefined) await ended;
    clearTimeout(kill);
    rmSync(folder, { recursive: true, force: true });
  };
  const get = async (path: string): Promise<Response> => {
    if (!running()) {
      const how = child.signalCode ?? `status ${child.exitCode}`;
      throw new ProgramEnded(`${program.tool} has ended with ${how}; the end of its log:\n${log.slice(-SHOWN)}`);
    }
    return fetch(`${url}${path}`);
  };
  try {
    if (child.pid === undefined) await once(child, 'spawn');
    await until(`${program.tool} to be ready`, async () => (await get('/-/ready')).ok);
    return { url, folder, get, signal: (name) => void child.kill(name), stop };
  } catch (error) {
    await stop();
    throw new Error(`${program.tool} at ${program.path} did not start: ${String(error)}\n${log}`, { cause: error });
  }
}

/** A loopback port that is free at this moment. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('no port was free');
  return address.port;
}

const API = z.object({ status: z.literal('success'), data: z.unknown() });
const VECTOR = z.object({
  resultType: z.literal('vector'),
  result: z.array(
    z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string().transform(Number)]) }),
  ),
});

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { RealProgram } from './realPrograms.ts';
import { until } from './until.ts';

export interface RunningServer {
  /** Base address on loopback, with a path of its own and without a slash at the end. */
  readonly url: string;
  /** Its own folder: configuration, other files, data. */
  readonly folder: string;
  /** Everything it has logged so far. */
  log(): string;
  /** Sends a signal, such as SIGHUP for a reload. */
  signal(name: NodeJS.Signals): void;
  /** Ends the process by its id and removes the folder; safe to call twice. */
  stop(): Promise<void>;
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
  /** The `data` of any API path, such as `/api/v1/targets`. */
  api(path: string): Promise<unknown>;
}

/** Starts Prometheus on a free loopback port and waits until it is ready. */
export async function startPrometheus(program: RealProgram, given: ServerFiles): Promise<PrometheusServer> {
  const server = await startServer(program, given, (folder) => [
    `--config.file=${folder}/config.yml`,
    `--storage.tsdb.path=${folder}/data`,
    '--web.enable-lifecycle',
  ]);
  const api = (path: string): Promise<unknown> => readApi(`${server.url}${path}`);
  return {
    ...server,
    api,
    async query(expression, time) {
      const parameters = new URLSearchParams({ query: expression, ...(time !== undefined && { time: String(time) }) });
      return toSamples(await api(`/api/v1/query?${parameters.toString()}`));
    },
  };
}

/** Starts Alertmanager, without clustering, on a free loopback port and waits until it is ready. */
export function startAlertmanager(program: RealProgram, given: ServerFiles): Promise<RunningServer> {
  return startServer(program, given, (folder) => [
    `--config.file=${folder}/config.yml`,
    `--storage.path=${folder}/data`,
    '--cluster.listen-address=',
  ]);
}

/** Thrown when the program ended by itself while it was starting. */
class EndedEarly extends Error {}

/**
 * Another process may take the free port before the program does: then the program ends, and is started again on another.
 * A program that ends for a reason of its own ends each time, and says the same.
 */
async function startServer(
  program: RealProgram,
  given: ServerFiles,
  flags: (folder: string) => readonly string[],
): Promise<RunningServer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startOnce(program, given, flags);
    } catch (error) {
      if (tries === 3 || !(error instanceof EndedEarly) || !error.message.includes('address already in use'))
        throw error;
    }
  }
}

async function startOnce(
  program: RealProgram,
  given: ServerFiles,
  flags: (folder: string) => readonly string[],
): Promise<RunningServer> {
  const folder = mkdtempSync(join(tmpdir(), `${program.tool}-`));
  for (const [path, text] of Object.entries({ 'config.yml': given.config, ...given.files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const port = await freePort();
  // A path that no other server has: whoever answers there is the program that was started here.
  const prefix = `/${randomBytes(8).toString('hex')}`;
  const url = `http://127.0.0.1:${port}${prefix}`;
  const web = [`--web.listen-address=127.0.0.1:${port}`, `--web.route-prefix=${prefix}`];
  const [file, ...surrounding] = program.command;
  const child = spawn(file, [...surrounding, ...flags(folder), ...web, ...(given.flags ?? [])], {
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
    if (running()) {
      const kill = setTimeout(() => child.kill('SIGKILL'), 10_000);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(kill);
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const failure = `${program.tool} at ${program.path} did not start`;

  try {
    if (child.pid === undefined) await once(child, 'spawn');
    const ready = await until(`${program.tool} to be ready`, async () => {
      if (!running()) return false;
      const { ok } = await fetch(`${url}/-/ready`);
      return ok ? true : undefined;
    });
    if (ready) return { url, folder, log: () => log, signal: (name) => void child.kill(name), stop };
  } catch (error) {
    await stop();
    throw new Error(`${failure}: ${String(error)}\n${log}`, { cause: error });
  }
  await ended;
  await stop();
  throw new EndedEarly(`${failure}: it ended before it was ready\n${log}`);
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

async function readApi(address: string): Promise<unknown> {
  const answer = await fetch(address);
  const body: unknown = await answer.json();
  const read = API.safeParse(body);
  if (read.success) return read.data.data;
  throw new Error(`${address} answered ${answer.status}: ${JSON.stringify(body)}`);
}

function toSamples(data: unknown): QueriedSample[] {
  return VECTOR.parse(data).result.map(({ metric, value: [, value] }) => ({ labels: metric, value }));
}

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stringify } from 'yaml';
import { ask, end, PROJECT } from './processes.ts';

/** Of a whole process since its start. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly peakRssMegabytes: number;
}

export interface Scrape {
  readonly milliseconds: number;
  readonly bytes: number;
  readonly status: number;
}

/** The built program as a user runs it; only its clock stands still at a minute until it is told to go on to the next. */
export interface Exporter {
  /** Milliseconds from its start until it said that it listens. */
  readonly startMs: number;
  scrape(options?: { readonly gzip?: boolean; readonly query?: string }): Promise<Scrape>;
  /** The whole answer as text. */
  read(query: string): Promise<string>;
  /** Goes on to the next window. */
  nextWindow(): Promise<void>;
  usage(): Promise<ProcessUsage>;
  stop(): Promise<void>;
}

/** Loaded before the program: its time runs within the minute it was started in, and jumps to the next when told to. */
const HANDLES = `
const real = Date.now;
let origin = real();
let minute = Math.ceil(origin / 60000) * 60000;
Date.now = () => minute + Math.min(real() - origin, 59000);
process.on('message', (message) => {
  if (message === 'next') {
    origin = real();
    minute += 60000;
  }
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  process.send({ cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakRssMegabytes: maxRSS / 1024 });
});
process.channel.unref();
`;

/** The longest a scrape may take: the budget is out of the way, so a refresh ends long before. */
const SCRAPE_TIMEOUT_SECONDS = 300;

export async function startExporter(upstream: string): Promise<Exporter> {
  const folder = await mkdtemp(join(tmpdir(), 'exporter-bench-'));
  const file = join(folder, 'config.yaml');
  await writeFile(file, stringify(configuration(upstream)));
  const started = performance.now();
  const handles = `data:text/javascript,${encodeURIComponent(HANDLES)}`;
  const args = ['--import', handles, 'dist/main.js', 'serve', '--config.file', file];
  const child = spawn(process.execPath, [...args, '--web.listen-address', '127.0.0.1:0', '--log.level', 'info'], {
    cwd: PROJECT,
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  const address = await listening(child);
  const startMs = performance.now() - started;
  return {
    startMs,
    scrape: async ({ gzip = false, query = '' } = {}) => (await fetchWhole(`${address}/metrics${query}`, gzip)).scrape,
    read: async (query) => (await fetchWhole(`${address}/metrics${query}`, false)).body.toString('utf8'),
    nextWindow: async () => {
      await ask(child, 'next');
    },
    usage: () => ask<ProcessUsage>(child, 'usage'),
    stop: async () => {
      await end(child);
      await rm(folder, { recursive: true });
    },
  };
}

function configuration(upstream: string): object {
  const limits = { max_concurrent_requests: 32, requests_per_minute: 1_000_000 };
  return {
    accounts: [{ name: 'production', base_url: upstream, api_key: 'benchmark-key-0123456789', limits }],
    collection: { max_series: 10_000_000 },
  };
}

/** Resolves to the address that the program says it listens at; rejects when it ends before. */
export async function listening(child: ChildProcess): Promise<string> {
  const said: string[] = [];
  if (child.stderr !== null) {
    const lines = createInterface({ input: child.stderr });
    for await (const line of lines) {
      const address = /msg=Listening address=(?:https?:\/\/)?"?([^\s"]+)/.exec(line)?.[1];
      if (address !== undefined) {
        child.stderr.resume();
        return `http://${address}`;
      }
      said.push(line);
    }
  }
  throw new Error(`the program ended before it listened: ${said.join('\n')}`);
}

/** Reads an answer to its last byte; what the client does with it is no part of what is measured. */
export function fetchWhole(url: string, gzip: boolean): Promise<{ readonly scrape: Scrape; readonly body: Buffer }> {
  const headers = {
    'accept-encoding': gzip ? 'gzip' : 'identity',
    'x-prometheus-scrape-timeout-seconds': String(SCRAPE_TIMEOUT_SECONDS),
  };
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const request = get(url, { headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const milliseconds = performance.now() - started;
        const body = Buffer.concat(chunks);
        resolve({ scrape: { milliseconds, bytes: body.length, status: response.statusCode ?? 0 }, body });
      });
    });
    request.on('error', reject);
  });
}

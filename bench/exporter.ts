import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stringify } from 'yaml';
import { ACCOUNT_ID } from './fleet.ts';
import { ask, end, PROJECT } from './processes.ts';

/** The usage of a whole process since its start. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly peakRssMegabytes: number;
  /** The longest time on a processor between two turns since the last `usage()`; 0 before `watch()`. */
  readonly longestBlockMs: number;
}

export interface Scrape {
  readonly milliseconds: number;
  readonly bytes: number;
  readonly status: number;
}

/** The built program as users run it, but its clock stays within a minute until `nextWindow()`. */
export interface Exporter {
  /** Milliseconds from the start to the log line "Listening". */
  readonly startMs: number;
  /** Reads the status page. */
  page(): Promise<Scrape>;
  scrape(options?: { readonly gzip?: boolean; readonly query?: string }): Promise<Scrape>;
  /** The whole exposition as text. */
  read(query: string): Promise<string>;
  /** Advances to the next window. */
  nextWindow(): Promise<void>;
  usage(): Promise<ProcessUsage>;
  /** Starts watching the main thread, which costs processor time (Linux only). */
  watch(): Promise<void>;
  stop(): Promise<void>;
}

/** Node.js loads this before the program. Clocks run within one minute, and jump to the next on the message `next`. */
const HANDLES = `
import { existsSync, readFileSync } from 'node:fs';
const STATUS = '/proc/self/status';
const real = Date.now;
let origin = real();
let minute = Math.ceil(origin / 60000) * 60000;
let skipped = 0;
const monotonic = performance.now.bind(performance);
performance.now = () => monotonic() + skipped;
Date.now = () => minute + Math.min(real() - origin, 59000);
const busy = () => Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
let longestBlockMs = 0;
const watch = () => {
  let last = busy();
  const turn = () => {
    longestBlockMs = Math.max(longestBlockMs, busy() - last);
    last = busy();
    setImmediate(turn).unref();
  };
  turn();
};
process.on('message', (message) => {
  if (message === 'watch') watch();
  if (message === 'next') {
    origin = real();
    minute += 60000;
    skipped += 60000;
  }
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  // maxRSS includes memory of the parent process; the kernel's own record (Linux) does not.
  const peak = /VmHWM:\\s+(\\d+)/.exec(existsSync(STATUS) ? readFileSync(STATUS, 'utf8') : '')?.[1] ?? maxRSS;
  process.send({ cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakRssMegabytes: peak / 1024, longestBlockMs });
  longestBlockMs = 0;
});
process.channel.unref();
`;

export const REST: Reading = { api: 'rest', atOnce: 32 };
export const NERDGRAPH: Reading = { api: 'nerdgraph', atOnce: 5 };

/** The longest scrape. The budget does not slow a refresh, so it ends long before. */
const SCRAPE_TIMEOUT_SECONDS = 300;

/** How the program reads: the interface, and the most calls in flight. */
export interface Reading {
  readonly api: 'rest' | 'nerdgraph';
  readonly atOnce: number;
  /** Further settings of the account. */
  readonly account?: object;
}

/** @param upstream the address of the upstream without a path */
export async function startExporter(upstream: string, reading: Reading = REST): Promise<Exporter> {
  const folder = await mkdtemp(join(tmpdir(), 'exporter-bench-'));
  const file = join(folder, 'config.yaml');
  await writeFile(file, stringify(createConfiguration(upstream, reading)));
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
    page: async () => (await fetchWhole(`${address}/`, true)).scrape,
    scrape: async ({ gzip = false, query = '' } = {}) => (await fetchWhole(`${address}/metrics${query}`, gzip)).scrape,
    read: async (query) => (await fetchWhole(`${address}/metrics${query}`, false)).body.toString('utf8'),
    nextWindow: async () => {
      await ask(child, 'next');
    },
    usage: () => ask<ProcessUsage>(child, 'usage'),
    watch: async () => {
      await ask(child, 'watch');
    },
    stop: async () => {
      await end(child);
      await rm(folder, { recursive: true });
    },
  };
}

function createConfiguration(upstream: string, { api, atOnce, account: further }: Reading): object {
  const limits = { max_concurrent_requests: atOnce, requests_per_minute: 1_000_000 };
  const common = { name: 'production', api_key: 'benchmark-key-0123456789', limits };
  const account =
    api === 'rest'
      ? { ...common, api, base_url: `${upstream}/v2` }
      : { ...common, api, account_id: ACCOUNT_ID, base_url: `${upstream}/graphql` };
  return {
    accounts: [{ ...account, ...further }],
    collection: { max_series: 10_000_000 },
  };
}

/** Resolves to the address in the log line "Listening"; rejects if the program ends before. */
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

/** Reads a response to the last byte. Benchmarks do not measure what the client does with it. */
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

/**
 * Measures the processor time per metric data response, transport included, in a separate process:
 * `node --import tsx bench/responsesCase.ts <runs> <responses per run> <address>`; prints JSON.
 */
import { Agent } from 'undici';
import { AccountHealth } from '../src/api/accountHealth.ts';
import { createRestReader } from '../src/api/rest/restReader.ts';
import { Secrets } from '../src/log/secrets.ts';
import { METRIC } from '../src/formulas/metricInputs.ts';
import { queryNames } from '../src/metrics/windowFamilies.ts';
import { DATASTORE } from './fleet.ts';
import { inParallel } from './inParallel.ts';

export interface ResponsesMeasurement {
  /** Milliseconds of processor time per response, one for each run. */
  readonly reader: readonly number[];
  /** undici and JSON alone. */
  readonly bare: readonly number[];
}

const AT_ONCE = 32;

const [runs = 0, responses = 0] = process.argv.slice(2).map(Number);
const address = process.argv[4] ?? '';
const call = { signal: new AbortController().signal };
const reader = createRestReader({
  baseUrl: address,
  keyHeader: 'X-Api-Key',
  key: () => 'benchmark-key-0123456789',
  secrets: new Secrets(),
  userAgent: 'benchmark',
  requestTimeoutMs: 60_000,
  maxRetries: 0,
  maxConcurrent: AT_ONCE,
  raw: false,
  tls: {},
  observer: {
    started: ignore,
    ended: ignore,
    failed: fail,
    retried: ignore,
    split: ignore,
    leftOut: ignore,
    serviceMessage: ignore,
  },
  environment: {},
  limiter: { acquire: () => Promise.resolve(() => undefined) },
  health: new AccountHealth(),
  now: Date.now,
  monotonic: () => performance.now(),
  refusedNamesMs: 3_600_000,
  random: Math.random,
  sleep: () => Promise.resolve(),
});
const agent = new Agent({ connections: AT_ONCE });
const names = queryNames([DATASTORE]);
const subject = { applicationId: 1, hostKey: undefined, metrics: { names } };
const range = { from: 1_795_219_200, to: 1_795_221_000 };
const origin = new URL(address).origin;
const path = `/v2/applications/1/metrics/data.json?${names.map((name) => `names%5B%5D=${encodeURIComponent(name)}`).join('&')}&summarize=true`;

function ignore(): void {
  // This measures only the time of a response.
}

function fail(_endpoint: string, _reason: string, message: string): never {
  throw new Error(message);
}

async function readOurs(): Promise<void> {
  const [outcome] = await reader.metricData.read([subject], range, call);
  const data = outcome !== undefined && 'value' in outcome ? outcome.value.metrics : undefined;
  if (data?.size !== 15 || !data.has(METRIC.web)) throw new Error('the response is not whole');
}

async function readBare(): Promise<void> {
  const { body } = await agent.request({ origin, path, method: 'GET' });
  JSON.parse(await body.text());
}

/** Measures milliseconds of processor time per response, with `AT_ONCE` calls in flight. */
async function measureCost(read: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await inParallel(responses, AT_ONCE, read);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / responses;
}

// The first round compiles the code and opens the connections, so it does not count.
await measureCost(readOurs);
await measureCost(readBare);
const measurement: { reader: number[]; bare: number[] } = { reader: [], bare: [] };
for (let run = 0; run < runs; run += 1) {
  measurement.reader.push(await measureCost(readOurs));
  measurement.bare.push(await measureCost(readBare));
}
await Promise.all([reader.close(), agent.destroy()]);
process.stdout.write(JSON.stringify(measurement satisfies ResponsesMeasurement));

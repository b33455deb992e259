import { AccountHealth } from '../../../src/api/accountHealth.ts';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { createNerdGraphReader } from '../../../src/api/nerdgraph/nerdGraphReader.ts';
import { createRestReader } from '../../../src/api/rest/restReader.ts';
import { Secrets } from '../../../src/log/secrets.ts';
import type { RateLimiter } from '../../../src/api/upstreamReader.ts';
import type { BackfillOptions } from '../../../src/tools/backfill/backfillFlags.ts';
import { backfill } from '../../../src/tools/backfill/backfill.ts';
import { AccountLimiter } from '../../../src/collect/schedule/limiter.ts';
import { systemClock } from '../../../src/eventLoop/clock.ts';
import type { LiveSession } from '../../../src/tools/upstream/session.ts';
import type { Config } from '../../../src/config/config.ts';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import type { Simulator } from '../../../simulator/simulator.ts';
import { SILENT } from '../../api/support/silent.ts';
import { config } from '../../collect/support/config.ts';
import type { After } from '../../support/simulator.ts';

/** A Wednesday at noon and a half minute; the newest window of a delay of 2 minutes ends at 11:58. */
export const NOW = Date.UTC(2026, 9, 14, 12, 0, 30);

/** Unix seconds of the time this number of minutes before NOW's minute. */
export function minutesAgo(minutes: number): number {
  return Math.floor(NOW / 60_000) * 60 - minutes * 60;
}

export function isoTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString();
}

/**
 * A session on the simulator as the command opens it, with a limiter that never holds anybody up; it ends with the test, or when
 * `after` says so.
 */
export function openSession(
  simulator: Simulator,
  options: {
    readonly config?: Config;
    readonly signal?: AbortSignal;
    readonly limiter?: RateLimiter;
    readonly gates?: readonly RateLimiter[];
  } = {},
  after: After = onTestFinished,
): LiveSession {
  const chosen = options.config ?? config();
  const signal = options.signal ?? new AbortController().signal;
  const limiter = options.limiter ?? { acquire: () => Promise.resolve(() => undefined) };
  const accounts = chosen.accounts.map((account, place) => {
    const readerOptions = {
      keyHeader: account.api_key_header,
      key: () => DEMO_API_KEY,
      secrets: new Secrets(),
      userAgent: 'test',
      requestTimeoutMs: 20_000,
      maxRetries: 0,
      maxConcurrent: 8,
      tls: {},
      environment: {},
      observer: SILENT,
      limiter: options.gates?.[place] ?? limiter,
      health: new AccountHealth(),
      now: () => NOW,
      monotonic: () => performance.now(),
      random: () => 0.5,
      sleep: () => Promise.resolve(),
    };
    const reader =
      account.api === 'rest'
        ? createRestReader({
            ...readerOptions,
            baseUrl: `${simulator.url}/v2`,
            raw: true,
            refusedNamesMs: 3_600_000,
          })
        : createNerdGraphReader({
            ...readerOptions,
            baseUrl: `${simulator.url}/graphql`,
            accountId: undefined,
            detailsMs: 3_600_000,
            requestsPerMinute: 600,
          });
    return {
      config: account,
      reader,
      limiter: new AccountLimiter(account.limits, systemClock),
      call: { signal, patient: true },
    };
  });
  for (const { reader } of accounts) after(() => reader.close());
  return { config: chosen, accounts, signal };
}

const REQUEST: Omit<BackfillOptions, 'from'> = {
  app: [],
  hosts: false,
  label: {},
  force: false,
  resume: false,
};

/** Runs the command on a session; gives what it wrote on standard output and told people, and the progress it showed last. */
export async function runOn(
  session: LiveSession,
  request: Partial<BackfillOptions> & Pick<BackfillOptions, 'from'>,
  notes: string[] = [],
  mask: (text: string) => string = String,
): Promise<{ readonly document: string; readonly notes: readonly string[]; readonly progress: readonly number[] }> {
  const stdout = new PassThrough();
  const document = text(stdout);
  const sleep = (_: number, signal: AbortSignal): Promise<void> =>
    signal.aborted ? Promise.reject(new Error('stopped')) : Promise.resolve();
  let shown: readonly number[] = [];
  const progress = { update: (...counts: number[]) => void (shown = counts), stop: () => undefined };
  try {
    const note = (sentence: string): void => void notes.push(sentence);
    await backfill(session, { ...REQUEST, ...request }, { now: NOW, stdout, note, mask, progress, sleep });
  } finally {
    stdout.end();
  }
  return { document: await document, notes, progress: shown };
}

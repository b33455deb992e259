import bcrypt from 'bcryptjs';
import type { RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { createApp } from '../../../src/web/app.ts';
import { SeriesMask } from '../../../src/exposition/seriesMask.ts';
import type { DroppedSeries } from '../../../src/metrics/writeSamples.ts';
import type { ReloadFailure, WebDependencies, WebSettings } from '../../../src/web/dependencies.ts';
import { startServers, type Servers } from '../../../src/web/server/servers.ts';
import { MemoryCollector, TEST_NOW } from './collector.ts';

export type TestApp = ReturnType<typeof testApp>;

export interface TestAppOptions {
  readonly settings?: Partial<WebSettings>;
  readonly background?: boolean;
  readonly reload?: () => Promise<readonly string[]>;
  readonly stopping?: () => boolean;
  readonly configText?: string;
  readonly dependencies?: Partial<WebDependencies>;
}

/** The application over a collector in memory, with a clock that stands still, and everything that it told. */
export function testApp(options: TestAppOptions = {}) {
  const told = {
    collector: new MemoryCollector(),
    scraped: [] as ('complete' | 'partial')[],
    dropped: [] as DroppedSeries[],
    failures: [] as unknown[],
    warnings: [] as string[],
    clock: TEST_NOW * 1000,
    reloadFailure: undefined as ReloadFailure | undefined,
  };
  const deps: WebDependencies = {
    settings: {
      telemetryPath: '/metrics',
      routePrefix: '/',
      externalUrl: undefined,
      maxRequests: 40,
      version: '1.2.3',
      docs: 'https://docs.example',
      ...options.settings,
    },
    collector: () => told.collector,
    collection: () => ({
      background: options.background ?? false,
      default_scrape_timeout: 10_000,
      max_age: 300_000,
      scrape_timeout_offset: 500,
      max_series: 500_000,
    }),
    ownMetrics: () =>
      Promise.resolve([
        { name: 'newrelic_up', help: 'Up.', type: 'gauge', series: [{ suffix: '', labels: {}, value: 1 }] },
      ]),
    scraped: (result) => void told.scraped.push(result),
    dropped: (series) => void told.dropped.push(...series),
    configText: () => options.configText ?? 'accounts:\n  - name: production\n    api_key: <secret>\n',
    mask: new SeriesMask(
      (text) => text.replaceAll('NRAK-0', '<secret>'),
      () => 1,
    ),
    reload: options.reload,
    reloadFailure: () => told.reloadFailure,
    stopping: options.stopping ?? (() => false),
    now: () => told.clock,
    monotonic: () => told.clock,
    warn: (message) => void told.warnings.push(message),
    failed: (error) => void told.failures.push(error),
    ...options.dependencies,
  };
  return Object.assign(told, { app: createApp(deps) });
}

/** The same, served. */
export async function served(options: TestAppOptions = {}) {
  const app = testApp(options);
  return { app, ...(await serve(app.app)) };
}

export interface RunningServers extends Servers {
  /** Scheme, host and port of the first address. */
  readonly origin: string;
  readonly port: number;
  readonly warnings: readonly string[];
  readonly failures: readonly unknown[];
}

/** Servers on a port of 127.0.0.1 that the system chooses; closed after the test. */
export async function serve(
  app: RequestListener,
  over: Partial<Parameters<typeof startServers>[0]> = {},
): Promise<RunningServers> {
  const warnings: string[] = [];
  const failures: unknown[] = [];
  const servers = await startServers({
    app,
    listen: [{ host: '127.0.0.1', port: 0 }],
    compare: (password, hash) => bcrypt.compare(password, hash),
    routePrefix: '/',
    refusedLogin: () => undefined,
    warn: (message) => void warnings.push(message),
    failed: (error) => void failures.push(error),
    monotonic: () => performance.now(),
    ...over,
  });
  onTestFinished(() => servers.close(0));
  const address = servers.addresses[0] ?? '';
  return {
    ...servers,
    warnings,
    failures,
    origin: `${servers.scheme}://${address}`,
    port: Number(address.split(':').at(-1)),
  };
}

import type { Request, Response } from 'express';
import type { AccountSummary, EntryStatus } from '../collect/serve/accountStatus.ts';
import type { Collector } from '../collect/collector.ts';
import type { CollectionConfig } from '../config/config.ts';
import type { OwnFamily } from '../exposition/exposition.ts';
import type { SeriesMask } from '../exposition/seriesMask.ts';
import type { DroppedSeries } from '../metrics/writeSamples.ts';
import type { WritePlaces } from './writePlaces.ts';

type State = 'overview' | 'snapshot' | 'applicationLists' | 'isIncomplete' | 'isReady' | 'progressing';
export type WebCollector = Pick<Collector, State | 'readLists' | 'refresh' | 'probe'>;

export interface ReloadFailure {
  /** Unix seconds. */
  readonly failedAt: number;
  readonly diagnostics: readonly string[];
}

export interface WebSettings {
  readonly telemetryPath: string;
  readonly routePrefix: string;
  readonly externalUrl: URL | undefined;
  /** `--web.max-requests`: scrapes in flight that may wait for New Relic; 0: no limit. */
  readonly maxRequests: number;
  readonly version: string;
  /** URL of the documentation, without a slash at the end. */
  readonly docs: string;
}

/** What the web side needs from the rest of the program. Functions return what a reload replaces. */
export interface WebDependencies {
  readonly settings: WebSettings;
  collector(): WebCollector;
  collection(): Pick<
    CollectionConfig,
    'background' | 'default_scrape_timeout' | 'max_age' | 'max_series' | 'scrape_timeout_offset'
  >;
  /** Returns the exporter's own metrics for a response that contains these collected families. */
  ownMetrics(
    accounts: readonly AccountSummary[],
    entries: readonly EntryStatus[],
    families: ReadonlyMap<string, { readonly series: number }>,
  ): Promise<readonly OwnFamily[]>;
  /** Counts a scrape of the telemetry path. Call it before `ownMetrics`, so that they include the scrape. */
  scraped(result: 'complete' | 'partial'): void;
  /** Reports the series that a response omits because of a `max_series`. */
  dropped(series: readonly DroppedSeries[]): void;
  /** Returns the running configuration as YAML, secrets as `<secret>`. */
  configText(): string;
  readonly mask: SeriesMask;
  /** Reloads the configuration, and returns its faults. Undefined without `--web.enable-lifecycle`. */
  readonly reload: (() => Promise<readonly string[]>) | undefined;
  reloadFailure(): ReloadFailure | undefined;
  stopping(): boolean;
  /** Unix milliseconds, for display only. */
  now(): number;
  /** Milliseconds of the collector's monotonic clock. */
  monotonic(): number;
  warn(message: string): void;
  failed(error: unknown): void;
}

/** Endpoints without the route prefix, except the telemetry path and the status page. */
export const PATHS = {
  probe: '/probe',
  discovery: '/sd',
  status: '/api/status',
  config: '/config',
  healthy: '/-/healthy',
  ready: '/-/ready',
  reload: '/-/reload',
} as const;

export interface Client {
  /** Aborted if the client disconnects before its response is written. */
  readonly gone: AbortSignal;
  /** False for a scrape beyond `--web.max-requests`: it gets cached values without waiting for New Relic. */
  readonly mayWait: boolean;
  readonly places: WritePlaces;
}

/** Ends the response, or destroys it if the client disconnects, before it resolves. */
export type Handler = (
  request: Request<object, unknown, unknown, URLSearchParams>,
  response: Response,
  client: Client,
) => void | Promise<void>;

/** An error whose message the client receives. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Normalizes a prefix: empty, or `/exporter` without a slash at the end. */
export function normalisePrefix(prefix: string): string {
  const inner = prefix.replace(/^\/+|(?<!\/)\/+$/g, '');
  return inner === '' ? '' : `/${inner}`;
}

/** Returns the prefix of links on pages, as a browser behind the reverse proxy must request them. */
export function linkPrefix({ routePrefix, externalUrl }: Pick<WebSettings, 'routePrefix' | 'externalUrl'>): string {
  return normalisePrefix(externalUrl?.pathname ?? routePrefix);
}

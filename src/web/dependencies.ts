import type { Request, Response } from 'express';
import type { AccountSummary, EntryStatus } from '../collect/serve/accountStatus.ts';
import type { Collector } from '../collect/collector.ts';
import type { CollectionConfig } from '../config/config.ts';
import type { OwnFamily } from '../exposition/exposition.ts';
import type { SeriesMask } from '../exposition/seriesMask.ts';
import type { DroppedSeries } from '../metrics/writeSamples.ts';
import type { WritePlaces } from './writePlaces.ts';

export type WebCollector = Pick<
  Collector,
  | 'overview'
  | 'snapshot'
  | 'readLists'
  | 'isIncomplete'
  | 'applicationLists'
  | 'probe'
  | 'progressing'
  | 'refresh'
  | 'isReady'
>;

/** The failure of the last reload: `at` is its time in Unix seconds, and `diagnostics` say why. */
export interface ReloadFailure {
  readonly at: number;
  readonly diagnostics: readonly string[];
}

export interface WebSettings {
  readonly telemetryPath: string;
  readonly routePrefix: string;
  readonly externalUrl: URL | undefined;
  /** `--web.max-requests`: scrapes that are answered at the same time; 0: no limit. */
  readonly maxRequests: number;
  readonly version: string;
  /** The address of the documentation, without a slash at the end. */
  readonly docs: string;
}

/** The other parts as the web side uses them. Values that a reload replaces are functions here. */
export interface WebDependencies {
  readonly settings: WebSettings;
  collector(): WebCollector;
  collection(): Pick<
    CollectionConfig,
    'background' | 'default_scrape_timeout' | 'max_age' | 'max_series' | 'scrape_timeout_offset'
  >;
  /** The exporter's own metrics, for a response with the given collected families. */
  ownMetrics(
    accounts: readonly AccountSummary[],
    entries: readonly EntryStatus[],
    families: ReadonlyMap<string, { readonly series: number }>,
  ): Promise<readonly OwnFamily[]>;
  /** Counts a scrape of the telemetry path; called before the exporter's own metrics are rendered for it. */
  scraped(result: 'complete' | 'partial'): void;
  /** Reports the series that a response leaves out because of a `max_series` of the configuration. */
  dropped(series: readonly DroppedSeries[]): void;
  /** The running configuration as YAML, secrets as `<secret>`. */
  configText(): string;
  readonly mask: SeriesMask;
  /** Gives the faults, none where the configuration was reloaded. Undefined where `--web.enable-lifecycle` is off. */
  readonly reload: (() => Promise<readonly string[]>) | undefined;
  /** Undefined where the last reload did not fail. */
  reloadFailure(): ReloadFailure | undefined;
  stopping(): boolean;
  /** Unix time in milliseconds, only to be shown. */
  now(): number;
  /** A clock that is never set, in milliseconds: the collector's. */
  monotonic(): number;
  warn(message: string): void;
  failed(error: unknown): void;
}

/** The endpoints but for the telemetry path and the status page, before the route prefix is put in front. */
export const PATHS = {
  probe: '/probe',
  discovery: '/sd',
  status: '/api/status',
  config: '/config',
  healthy: '/-/healthy',
  ready: '/-/ready',
  reload: '/-/reload',
} as const;

/** True for the path of another endpoint, which cannot be the telemetry path; "/" can, because the status page gives way. */
export function isTaken(path: string): boolean {
  return Object.values<string>(PATHS).includes(path);
}

/** Who waits for an answer. */
export interface Client {
  /** Aborted when the client leaves before it has its answer. */
  readonly gone: AbortSignal;
  /** False for a scrape beyond `--web.max-requests`: it gets the cached values, without waiting for New Relic. */
  readonly mayWait: boolean;
  readonly places: WritePlaces;
}

/** Answers the requests of a path. When it resolves, the response has been ended, or closed because the client left. */
export type Handler = (
  request: Request<object, unknown, unknown, URLSearchParams>,
  response: Response,
  client: Client,
) => void | Promise<void>;

/** Answered with its status and message. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A prefix as it stands before a path: empty, or `/exporter` without a slash at its end. */
export function normalisePrefix(prefix: string): string {
  const inner = prefix.replace(/^\/+|(?<!\/)\/+$/g, '');
  return inner === '' ? '' : `/${inner}`;
}

/** The prefix of links on our pages, as a user's browser must request them through the reverse proxy. */
export function linkPrefix({ routePrefix, externalUrl }: Pick<WebSettings, 'routePrefix' | 'externalUrl'>): string {
  return normalisePrefix(externalUrl?.pathname ?? routePrefix);
}

import type { Request } from 'express';
import type { CollectionConfig } from '../../config/config.ts';

/** No scraper waits longer; also keeps timers within what they can hold. */
const MAX_TIMEOUT_MS = 3_600_000;

export interface DeadlineInputs {
  /** `X-Prometheus-Scrape-Timeout-Seconds` as it came. */
  readonly header: string | undefined;
  /** Milliseconds, from the configuration: `default_scrape_timeout`, `scrape_timeout_offset`. */
  readonly defaultTimeout: number;
  readonly offset: number;
  /** Milliseconds that the last answer of this kind took to render and write. */
  readonly lastWrite: number;
}

/**
 * Milliseconds from now until an answer must be put together: the scraper's timeout less the
 * configured offset and the time writing takes, but never under half the timeout. An invalid header means the default.
 */
export function timeToAnswer({ header, defaultTimeout, offset, lastWrite }: DeadlineInputs): number {
  const timeout = readTimeout(header) ?? defaultTimeout;
  return Math.max(timeout - offset - lastWrite, timeout / 2);
}

/** The same for a request, by its header and the configuration. */
export function timeToAnswerTo(
  request: Request,
  collection: Pick<CollectionConfig, 'default_scrape_timeout' | 'scrape_timeout_offset'>,
  lastWrite: number,
): number {
  return timeToAnswer({
    header: request.get('x-prometheus-scrape-timeout-seconds'),
    defaultTimeout: collection.default_scrape_timeout,
    offset: collection.scrape_timeout_offset,
    lastWrite,
  });
}

/** Seconds as a decimal number, with or without an exponent, above 0; as milliseconds. */
function readTimeout(header: string | undefined): number | undefined {
  if (header === undefined || !/^\s*\+?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i.test(header)) return undefined;
  const milliseconds = Number(header) * 1000;
  return milliseconds > 0 && Number.isFinite(milliseconds) ? Math.min(milliseconds, MAX_TIMEOUT_MS) : undefined;
}

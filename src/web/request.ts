import type { IncomingMessage } from 'node:http';
import { GROUPS, type Group } from '../reads/reads.ts';
import type { CollectionConfig } from '../config/config.ts';
import type { ExpositionForm } from '../exposition/exposition.ts';
import { acceptsGzip, negotiate } from '../exposition/formats.ts';
import type { WebSettings } from './dependencies.ts';

/** True if the request target is a path, or a whole address, as proxies receive it, whose path the router takes. */
export function hasPath({ url = '' }: IncomingMessage): boolean {
  return url.startsWith('/') || (/^https?:\/\//i.test(url) && URL.canParse(url));
}

/** The path of a request target, not decoded; of a whole address, the part after a host of ordinary characters. */
export function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/^https?:\/\/[\w.:[\]-]+(?=\/)/i, '').split('?', 1)[0] ?? '';
}

/** True for more than one Host header (RFC 9112, 3.2): a proxy before this server may have used another of them. */
export function namesSeveralHosts({ headersDistinct }: IncomingMessage): boolean {
  return (headersDistinct.host?.length ?? 0) > 1;
}

const HOST = /^(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_.])?)(?::\d{1,5})?$/;

/** True for `host`, `host:port`, `[IPv6]` and `[IPv6]:port`. */
export function isHostHeader(host: string): boolean {
  return HOST.test(host) && Number(/:(\d{1,5})$/.exec(host)?.[1] ?? 0) <= 65_535;
}

export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The query of a request target, flat: no nested objects. */
export function queryOf(target: string): URLSearchParams {
  const mark = target.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
}

const OWN = 'exporter';

/** The groups that `collect[]` names, and whether it names the exporter's own; all without it. Throws a {@link HttpError}. */
export function readSelection(query: URLSearchParams): { readonly groups: ReadonlySet<Group>; readonly own: boolean } {
  const names = query.getAll('collect[]');
  if (names.length === 0) return { groups: new Set(GROUPS), own: true };
  const unknown = names.find((name) => name !== OWN && !isGroup(name));
  if (unknown !== undefined) {
    throw new HttpError(400, `Unknown group ${quote(unknown)} in collect[]; known are ${[...GROUPS, OWN].join(', ')}.`);
  }
  return { groups: new Set(names.filter(isGroup)), own: names.includes(OWN) };
}

/** Reads the parameters of `/probe`. Throws a {@link HttpError} with the reason. */
export function readProbeQuery(query: URLSearchParams): {
  readonly account: string;
  readonly applicationId: number;
  readonly debug: boolean;
} {
  const account = single(query, 'account', 'the name of an account of the configuration');
  const id = single(query, 'app_id', 'the id of an application');
  if (!/^[1-9]\d{0,15}$/.test(id) || !Number.isSafeInteger(Number(id))) {
    throw new HttpError(
      400,
      `The parameter app_id must be the id of an application, a whole number above 0; it is ${quote(id)}.`,
    );
  }
  const debug = query.has('debug') ? single(query, 'debug', 'true or false') : 'false';
  if (debug !== 'true' && debug !== 'false') {
    throw new HttpError(400, `The parameter debug must be true or false; it is ${quote(debug)}.`);
  }
  return { account, applicationId: Number(id), debug: debug === 'true' };
}

function single(query: URLSearchParams, name: string, meaning: string): string {
  const [value = '', ...more] = query.getAll(name);
  if (value === '') throw new HttpError(400, `The parameter ${name} is missing: it must be ${meaning}.`);
  if (more.length > 0) throw new HttpError(400, `The parameter ${name} must be given once.`);
  return value;
}

function isGroup(name: string): name is Group {
  return GROUPS.some((group) => group === name);
}

/** Quotes a value of a request for a message: at most 60 characters of it, with line breaks escaped. */
function quote(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
}

/** Limit for the scrape timeout in the header; a longer one counts as this. */
const MAX_TIMEOUT_MS = 120_000;

const DECIMAL = /^\+?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Milliseconds that a request may wait for data: the scraper's timeout minus the configured offset and `lastWrite`, the time
 * that the last response of this kind took to write, but never under half the timeout. An invalid header means the default.
 */
export function timeToRespond(
  { headers }: Pick<IncomingMessage, 'headers'>,
  collection: Pick<CollectionConfig, 'default_scrape_timeout' | 'scrape_timeout_offset'>,
  lastWrite: number,
): number {
  const header = headers['x-prometheus-scrape-timeout-seconds'] as string | undefined;
  const timeout = readTimeout(header) ?? collection.default_scrape_timeout;
  return Math.max(timeout - collection.scrape_timeout_offset - lastWrite, timeout / 2);
}

/** Milliseconds of a number of seconds above 0, such as `9.5` or `1e1`, at most two minutes; undefined if it is invalid. */
function readTimeout(header: string | undefined): number | undefined {
  const text = header?.trim() ?? '';
  const milliseconds = DECIMAL.test(text) ? Number(text) * 1000 : 0;
  return milliseconds > 0 && Number.isFinite(milliseconds) ? Math.min(milliseconds, MAX_TIMEOUT_MS) : undefined;
}

export function expositionFormOf({ headers }: IncomingMessage): ExpositionForm {
  return { format: negotiate(headers.accept), gzip: acceptsGzip(headers['accept-encoding']?.toString()) };
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

/** Prefix and scheme under which clients reach this server at `host`: those of the external address if it has this host. */
export function relativeRoot(
  { externalUrl, routePrefix }: WebSettings,
  host: string,
  secure: boolean,
): { readonly prefix: string; readonly scheme: 'http' | 'https' } {
  const own = `${externalUrl?.protocol}//${host}`;
  if (externalUrl !== undefined && URL.canParse(own) && new URL(own).host === externalUrl.host) {
    return {
      prefix: normalisePrefix(externalUrl.pathname),
      scheme: externalUrl.protocol === 'https:' ? 'https' : 'http',
    };
  }
  return { prefix: normalisePrefix(routePrefix), scheme: secure ? 'https' : 'http' };
}

import type { IncomingMessage } from 'node:http';
import { familiesOf, writeExposition, type OwnFamily } from '../../exposition/exposition.ts';
import { unlessGone } from '../clientGone.ts';
import { sendAnswer, type Render } from '../sending.ts';
import { SharedWork } from '../sharedWork.ts';
import type { ProbeResult } from '../../collect/serve/probeResult.ts';
import { HttpError, type Handler, type WebDependencies } from '../dependencies.ts';
import { PROBE } from '../../metrics/catalogueExporter.ts';
import { acceptsGzip, negotiate } from '../../exposition/formats.ts';
import { GROUPS, type Group } from '../../reads/reads.ts';
import type { CollectionConfig } from '../../config/config.ts';

const KEPT = 10;

/** The addresses that scraped last. A scrape asks for values: one of the exporter's own metrics alone is none. */
export class LastScrapes {
  /** Unix seconds, the oldest first. */
  readonly #at = new Map<string, number>();
  /** The newest scrape in milliseconds of the monotonic clock. */
  newest: number | undefined;

  /** @param now Unix milliseconds, only to be shown; `monotonic` is of a clock that is never set */
  note(address = 'unknown', now: number, monotonic: number): void {
    this.newest = monotonic;
    const plain = address.replace(/^::ffff:(?=[\d.]+$)/, '');
    this.#at.delete(plain);
    this.#at.set(plain, now / 1000);
    const [oldest] = this.#at.keys();
    if (this.#at.size > KEPT && oldest !== undefined) this.#at.delete(oldest);
  }

  /** Each with its last scrape, the newest first. */
  list(): readonly { readonly address: string; readonly at: number }[] {
    return Array.from(this.#at, ([address, at]) => ({ address, at })).reverse();
  }
}

/**
 * The telemetry path: refreshes what is due until the scraper's deadline, then answers from the last reads.
 * `collect[]=exporter` alone makes no call to New Relic. Work for a client that has left stops. HEAD does the same without
 * sending the body, so that its headers are those of GET.
 */
export function metricsHandler(deps: WebDependencies, lastScrapes: LastScrapes): Handler {
  /** Milliseconds that the last response took to render and send, by its groups: the next one takes about the same. */
  const writeTimes = new Map<string, number>();
  const renders = new SharedWork<{ pieces: readonly Buffer[]; complete: boolean }>();
  return async (request, response, client) => {
    const { groups, own: wantsOwn } = readSelection(request.query);
    const collection = deps.collection();
    const selection = `${[...groups].toSorted().join()} ${wantsOwn}`;
    const waitMs = client.mayWait ? timeToRespond(request, collection, writeTimes.get(selection) ?? 0) : 0;
    const asOf = deps.monotonic();
    const { gone } = client;
    if (groups.size > 0) lastScrapes.note(request.socket.remoteAddress, deps.now(), asOf);
    if (!collection.background && groups.size > 0) {
      await unlessGone(deps.collector().refresh({ groups }, waitMs, gone), gone);
    }
    const form = expositionFormOf(request);
    let isCounted = false;
    const count = (complete: boolean): void => {
      if (!isCounted) deps.scraped(complete ? 'complete' : 'partial');
      isCounted = true;
    };
    const renderAll = async (abandoned: AbortSignal, limit: number) => {
      const { blocks, complete, cut, accounts, entries } = await deps.collector().snapshot({ groups }, asOf, abandoned);
      // Before the exporter's own metrics are read, so that they include this scrape.
      count(complete);
      const { families, dropped } = await familiesOf(blocks, deps.collection().max_series, deps.mask, abandoned);
      deps.dropped([...cut, ...dropped]);
      const own = wantsOwn ? await deps.ownMetrics(accounts, entries, families) : [];
      return { pieces: await writeExposition(families, own, form, deps.mask, abandoned, limit), complete };
    };
    const render: Render = async (limit) => {
      const key = `${selection} ${form.format} ${form.gzip} ${limit}`;
      const { pieces, complete } = await renders.of(key, gone, (abandoned) => renderAll(abandoned, limit));
      count(complete);
      return pieces;
    };
    const writingFrom = deps.monotonic();
    let isTaken = false;
    try {
      isTaken = await sendAnswer(response, form, render, client);
    } finally {
      const tookMs = deps.monotonic() - writingFrom;
      // The time of a scraper that gave up counts too; otherwise the next response would be late again.
      if (gone.aborted) writeTimes.set(selection, Math.max(tookMs, writeTimes.get(selection) ?? 0));
      // A HEAD request takes no body, so its time says nothing.
      else if (isTaken && request.method === 'GET') writeTimes.set(selection, tookMs);
    }
  };
}

/** `/probe`: one application of one account. A request names it by its id in the account's list, never by an address. */
export function probeHandler(deps: WebDependencies, lastScrapes: LastScrapes): Handler {
  let lastWrite = 0;
  return async (request, response, client) => {
    const { account, applicationId, debug } = readProbeQuery(request.query);
    const collection = deps.collection();
    const startedAt = deps.monotonic();
    lastScrapes.note(request.socket.remoteAddress, deps.now(), startedAt);
    const waitMs = client.mayWait ? timeToRespond(request, collection, lastWrite) : 0;
    const { gone } = client;
    const result = await unlessGone(deps.collector().probe(account, applicationId, waitMs, gone), gone);
    if (result.kind === 'unknown_account') {
      const known = deps.mask.text(accountsInWords(result.known));
      throw new HttpError(404, `There is no such account in the configuration${known}.`);
    }
    if (result.kind === 'unknown_application') {
      throw new HttpError(404, `The account has no application ${applicationId} among those that are exported.`);
    }
    const seconds = (deps.monotonic() - startedAt) / 1000;
    const { blocks, cut } = result.kind === 'result' ? result : { blocks: [], cut: [] };
    const writingFrom = deps.monotonic();
    const ofDebug = { format: 'text', contentType: 'text/plain; charset=utf-8', gzip: false } as const;
    const form = debug ? ofDebug : expositionFormOf(request);
    const render: Render = async (limit) => {
      const { families, dropped } = await unlessGone(familiesOf(blocks, collection.max_series, deps.mask, gone), gone);
      deps.dropped([...cut, ...dropped]);
      const own = outcome(result.kind === 'result' && result.success, seconds);
      const pieces = await unlessGone(writeExposition(families, own, form, deps.mask, gone, limit), gone);
      const words = debug ? deps.mask.text(inWords(account, applicationId, result, seconds)) : '';
      return [Buffer.from(words), ...pieces];
    };
    const isTaken = await sendAnswer(response, form, render, client);
    if (isTaken && request.method === 'GET' && !debug) lastWrite = deps.monotonic() - writingFrom;
  };
}

const SHOWN_ACCOUNTS = 10;

/** The names of accounts behind a sentence that ends with the configuration. */
function accountsInWords(names: readonly string[]): string {
  if (names.length === 0) return '';
  const more = names.length > SHOWN_ACCOUNTS ? ` and ${names.length - SHOWN_ACCOUNTS} more` : '';
  return `, which has ${names.slice(0, SHOWN_ACCOUNTS).map(quote).join(', ')}${more}`;
}

function outcome(success: boolean, seconds: number): OwnFamily[] {
  const series = (value: number) => [{ suffix: '', labels: {}, value }];
  return [
    { ...PROBE.success, series: series(Number(success)) },
    { ...PROBE.duration, series: series(seconds) },
  ];
}

function inWords(
  account: string,
  applicationId: number,
  result: Extract<ProbeResult, { notes: unknown }>,
  seconds: number,
): string {
  const unreadable = 'The list of applications was not read.';
  const verdict = result.kind === 'unreadable' ? unreadable : result.success ? 'Nothing failed.' : 'Something failed.';
  const lines = [
    `Probe of application ${applicationId} of account ${JSON.stringify(account)}`,
    `${verdict} The probe took ${seconds.toFixed(3)} s.`,
    '',
    ...result.notes.map((note) => `- ${Array.from(note.split('\n'), (line) => line.trim()).join(' ')}`),
    '',
    'Metrics that the probe returns:',
    '',
  ];
  return `${lines.join('\n')}\n`;
}

const OWN = 'exporter';

/** The groups that `collect[]` names, and whether it names the exporter's own; all without it. Throws a {@link HttpError}. */
function readSelection(query: URLSearchParams): { readonly groups: ReadonlySet<Group>; readonly own: boolean } {
  const names = query.getAll('collect[]');
  if (names.length === 0) return { groups: new Set(GROUPS), own: true };
  const known: readonly string[] = [...GROUPS, OWN];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new HttpError(400, `Unknown group ${quote(unknown)} in collect[]; known are ${known.join(', ')}.`);
  }
  return { groups: new Set(GROUPS.filter((group) => names.includes(group))), own: names.includes(OWN) };
}

/** Reads the parameters of `/probe`. Throws a {@link HttpError} with the reason. */
function readProbeQuery(query: URLSearchParams): {
  readonly account: string;
  readonly applicationId: number;
  readonly debug: boolean;
} {
  const account = single(query, 'account', 'the name of an account of the configuration');
  const id = single(query, 'app_id', 'the id of an application; /sd lists them');
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

/** Quotes a value of a request for a message: at most 60 characters of it, with line breaks escaped. */
function quote(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
}

/** Limit for the scrape timeout in the header; a longer one counts as this. */
const MAX_TIMEOUT_MS = 120_000;

/** A number of seconds, such as `9.5` or `1e1`. */
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
  const header = String(headers['x-prometheus-scrape-timeout-seconds'] ?? '').trim();
  const given = DECIMAL.test(header) ? Number(header) * 1000 : 0;
  const isValid = given > 0 && Number.isFinite(given);
  const timeout = isValid ? Math.min(given, MAX_TIMEOUT_MS) : collection.default_scrape_timeout;
  return Math.max(timeout - collection.scrape_timeout_offset - lastWrite, timeout / 2);
}

export function expositionFormOf({ headers }: IncomingMessage) {
  return { ...negotiate(headers.accept), gzip: acceptsGzip(headers['accept-encoding']?.toString()) };
}

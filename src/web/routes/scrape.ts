import type { IncomingMessage } from 'node:http';
import { findFamilies, writeExposition, type OwnFamily } from '../../exposition/exposition.ts';
import { awaitUnlessGone } from '../clientGone.ts';
import { sendAnswer, type Render } from '../sending.ts';
import { SharedWork } from '../sharedWork.ts';
import type { ProbeResult } from '../../collect/serve/probeResult.ts';
import { HttpError, type Handler, type WebDependencies } from '../dependencies.ts';
import { PROBE } from '../../metrics/catalogueExporter.ts';
import { acceptsGzip, negotiate } from '../../exposition/formats.ts';
import { GROUPS, type Group } from '../../reads/reads.ts';
import type { CollectionConfig } from '../../config/config.ts';

const MAX_SCRAPERS = 10;

/** The most recent scrapers. Requests for `collect[]=exporter` alone do not count. */
export class LastScrapes {
  /** The address and the Unix time of the last scrape of each scraper, the newest first. */
  list: readonly { readonly address: string; readonly at: number }[] = [];
  /** Time of the newest scrape, in milliseconds of the monotonic clock. */
  newest: number | undefined;

  /** @param now Unix milliseconds, for display only; `monotonic` is the time of the monotonic clock */
  note(remoteAddress = 'unknown', now: number, monotonic: number): void {
    this.newest = monotonic;
    const address = remoteAddress.replace(/^::ffff:(?=[\d.]+$)/, '');
    const others = this.list.filter((scraper) => scraper.address !== address);
    this.list = [{ address, at: now / 1000 }, ...others].slice(0, MAX_SCRAPERS);
  }
}

/**
 * Handles the telemetry path: waits for a refresh until the scraper's deadline, then serves the last values.
 * `collect[]=exporter` alone makes no call to New Relic. HEAD does the same work, so that its headers match GET.
 */
export function metricsHandler(deps: WebDependencies, lastScrapes: LastScrapes): Handler {
  /** Milliseconds that the last response took to render and send, by selection: an estimate for the next response. */
  const writeTimes = new Map<string, number>();
  const renders = new SharedWork<{ pieces: readonly Buffer[]; complete: boolean }>();
  return async (request, response, client) => {
    const { groups, withExporter } = readSelection(request.query);
    const collection = deps.collection();
    const selection = `${[...groups].toSorted().join()} ${withExporter}`;
    const waitMs = client.mayWait ? computeWaitMs(request, collection, writeTimes.get(selection) ?? 0) : 0;
    const asOf = deps.monotonic();
    const { gone } = client;
    if (groups.size > 0) lastScrapes.note(request.socket.remoteAddress, deps.now(), asOf);
    if (!collection.background && groups.size > 0) {
      await awaitUnlessGone(deps.collector().refresh({ groups }, waitMs, gone), gone);
    }
    const form = negotiateForm(request);
    let isCounted = false;
    const count = (complete: boolean): void => {
      if (!isCounted) deps.scraped(complete ? 'complete' : 'partial');
      isCounted = true;
    };
    const renderAll = async (abandoned: AbortSignal, limit: number) => {
      const { blocks, complete, cut, accounts, entries } = await deps.collector().snapshot({ groups }, asOf, abandoned);
      // Counted before `ownMetrics`, so that the exporter's metrics include this scrape.
      count(complete);
      const { families, dropped } = await findFamilies(blocks, deps.collection().max_series, deps.mask, abandoned);
      deps.dropped([...cut, ...dropped]);
      const exporterFamilies = withExporter ? await deps.ownMetrics(accounts, entries, families) : [];
      const pieces = await writeExposition(families, exporterFamilies, form, deps.mask, abandoned, limit);
      return { pieces, complete };
    };
    const render: Render = async (limit) => {
      const key = `${selection} ${form.format} ${form.gzip} ${limit}`;
      const { pieces, complete } = await renders.share(key, gone, (abandoned) => renderAll(abandoned, limit));
      count(complete);
      return pieces;
    };
    const writeStart = deps.monotonic();
    try {
      await sendAnswer(response, form, render, client);
    } finally {
      // A scraper that disconnected counts too, because otherwise the next response is late again.
      const least = gone.aborted ? (writeTimes.get(selection) ?? 0) : 0;
      // HEAD sends no body, so its time says nothing.
      if (request.method === 'GET') writeTimes.set(selection, Math.max(least, deps.monotonic() - writeStart));
    }
  };
}

/** Handles `/probe` for one application, which the request names by account and id. */
export function probeHandler(deps: WebDependencies, lastScrapes: LastScrapes): Handler {
  let lastWriteMs = 0;
  return async (request, response, client) => {
    const { account, applicationId, debug } = readProbeQuery(request.query);
    const collection = deps.collection();
    const startedAt = deps.monotonic();
    lastScrapes.note(request.socket.remoteAddress, deps.now(), startedAt);
    const waitMs = client.mayWait ? computeWaitMs(request, collection, lastWriteMs) : 0;
    const { gone } = client;
    const result = await awaitUnlessGone(deps.collector().probe(account, applicationId, waitMs, gone), gone);
    if (result.kind === 'unknown_account') {
      const known = deps.mask.text(listAccounts(result.known));
      throw new HttpError(404, `The configuration has no such account${known}.`);
    }
    if (result.kind === 'unknown_application') {
      throw new HttpError(404, `The account exports no application ${applicationId}.`);
    }
    const seconds = (deps.monotonic() - startedAt) / 1000;
    const { blocks, cut } = result.kind === 'result' ? result : { blocks: [], cut: [] };
    const writeStart = deps.monotonic();
    const debugForm = { format: 'text', contentType: 'text/plain; charset=utf-8', gzip: false } as const;
    const form = debug ? debugForm : negotiateForm(request);
    const render: Render = async (limit) => {
      const { families, dropped } = await findFamilies(blocks, collection.max_series, deps.mask, gone);
      deps.dropped([...cut, ...dropped]);
      const probeFamilies = createProbeFamilies(result.kind === 'result' && result.success, seconds);
      const pieces = await writeExposition(families, probeFamilies, form, deps.mask, gone, limit);
      const notes = debug ? deps.mask.text(describeProbe(account, applicationId, result, seconds)) : '';
      return [Buffer.from(notes), ...pieces];
    };
    await sendAnswer(response, form, render, client);
    // A client that disconnected took less time than the next one needs.
    if (request.method === 'GET' && !debug && !gone.aborted) lastWriteMs = deps.monotonic() - writeStart;
  };
}

const SHOWN_ACCOUNTS = 10;

/** Returns the end of a sentence: `; its accounts are "a", "b"`. Empty without accounts. */
function listAccounts(names: readonly string[]): string {
  if (names.length === 0) return '';
  const more = names.length > SHOWN_ACCOUNTS ? ` and ${names.length - SHOWN_ACCOUNTS} more` : '';
  return `; its accounts are ${names.slice(0, SHOWN_ACCOUNTS).map(quote).join(', ')}${more}`;
}

function createProbeFamilies(success: boolean, seconds: number): OwnFamily[] {
  const series = (value: number) => [{ suffix: '', labels: {}, value }];
  return [
    { ...PROBE.probe_success, series: series(Number(success)) },
    { ...PROBE.probe_duration_seconds, series: series(seconds) },
  ];
}

function describeProbe(
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

const EXPORTER = 'exporter';

/** Reads `collect[]`: the groups, and whether it names `exporter`. Throws a {@link HttpError} for an unknown name. */
function readSelection(query: URLSearchParams) {
  const names = query.getAll('collect[]');
  if (names.length === 0) return { groups: new Set<Group>(GROUPS), withExporter: true };
  const known: readonly string[] = [...GROUPS, EXPORTER];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new HttpError(400, `Unknown group ${quote(unknown)} in collect[]; known are ${known.join(', ')}.`);
  }
  return { groups: new Set(GROUPS.filter((group) => names.includes(group))), withExporter: names.includes(EXPORTER) };
}

/** Reads the parameters of `/probe`. Throws a {@link HttpError} with the reason. */
function readProbeQuery(query: URLSearchParams) {
  const account = readParameter(query, 'account', 'the name of an account of the configuration');
  const id = readParameter(query, 'app_id', 'the id of an application; /sd lists them');
  if (!/^[1-9]\d{0,15}$/.test(id) || !Number.isSafeInteger(Number(id))) {
    const meaning = 'the id of an application, a whole number above 0';
    throw new HttpError(400, `The parameter app_id must be ${meaning}; it is ${quote(id)}.`);
  }
  const debug = query.has('debug') ? readParameter(query, 'debug', 'true or false') : 'false';
  if (debug !== 'true' && debug !== 'false') {
    throw new HttpError(400, `The parameter debug must be true or false; it is ${quote(debug)}.`);
  }
  return { account, applicationId: Number(id), debug: debug === 'true' };
}

function readParameter(query: URLSearchParams, name: string, meaning: string): string {
  const [value = '', ...more] = query.getAll(name);
  if (value === '') throw new HttpError(400, `The parameter ${name} is missing: it must be ${meaning}.`);
  if (more.length > 0) throw new HttpError(400, `The parameter ${name} must occur only once.`);
  return value;
}

/** Quotes a value from a request: at most 60 characters, with line breaks escaped. */
function quote(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
}

/** Upper limit of the scrape timeout from the header. */
const MAX_TIMEOUT_MS = 120_000;

/** A number of seconds, such as `9.5` or `1e1`. */
const DECIMAL = /^\+?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Returns how many milliseconds a request may wait for data: the scrape timeout minus the configured offset and
 * `lastWriteMs`, the time to write the last such response, but at least half the timeout.
 */
export function computeWaitMs(
  { headers }: Pick<IncomingMessage, 'headers'>,
  collection: Pick<CollectionConfig, 'default_scrape_timeout' | 'scrape_timeout_offset'>,
  lastWriteMs: number,
): number {
  const header = String(headers['x-prometheus-scrape-timeout-seconds'] ?? '').trim();
  const requested = DECIMAL.test(header) ? Number(header) * 1000 : 0;
  const isValid = requested > 0 && Number.isFinite(requested);
  const timeout = isValid ? Math.min(requested, MAX_TIMEOUT_MS) : collection.default_scrape_timeout;
  return Math.max(timeout - collection.scrape_timeout_offset - lastWriteMs, timeout / 2);
}

export function negotiateForm({ headers }: IncomingMessage) {
  return { ...negotiate(headers.accept), gzip: acceptsGzip(headers['accept-encoding']?.toString()) };
}

import { writeExposition, type OwnFamily } from '../../exposition/exposition.ts';
import { familiesOf } from '../../exposition/expositionFamilies.ts';
import { ClientGoneError, unlessGone } from '../clientGone.ts';
import { sendExposition, sendPieces } from '../sending.ts';
import type { LastScrapes } from '../lastScrapes.ts';
import { type LimitedHandler } from '../requestLimiter.ts';
import type { ProbeResult } from '../../collect/probeResult.ts';
import type { WebDependencies } from '../dependencies.ts';
import { timeToRespond, queryOf, readSelection, readProbeQuery, HttpError, expositionFormOf } from '../request.ts';
import { SharedWork } from '../sharedWork.ts';
import { PROBE } from '../../metrics/catalogueExporter.ts';

/**
 * The telemetry path: refreshes what is due until the scraper's deadline, then answers from the last reads.
 * `collect[]=exporter` alone makes no call to New Relic. Work for a client that has left stops. HEAD does the same without
 * sending the body, so that its headers are those of GET.
 */
export function metricsHandler(deps: WebDependencies, lastScrapes: LastScrapes): LimitedHandler {
  /** Milliseconds that the last response took to render and send, by its groups: the next one takes about the same. */
  const writeTimes = new Map<string, number>();
  /** `countedFor` is the client that has it made: its scrape is counted before the exporter's own metrics are read. */
  const makings = new SharedWork<{ pieces: readonly Buffer[]; complete: boolean; countedFor: AbortSignal }>('begin');
  return async (request, response, slot) => {
    const { groups, own: wantsOwn } = readSelection(queryOf(request.originalUrl));
    const collection = deps.collection();
    const kind = `${[...groups].toSorted().join()} ${wantsOwn}`;
    const waitMs = timeToRespond(request, collection, writeTimes.get(kind) ?? 0);
    const asOf = deps.monotonic();
    const { gone } = slot;
    if (groups.size > 0) lastScrapes.note(request.socket.remoteAddress, deps.now(), asOf);
    if (!collection.background && groups.size > 0) {
      await slot.waitFor((signal) => deps.collector().refresh({ groups }, waitMs, signal));
    }
    const form = expositionFormOf(request);
    const make = async (abandoned: AbortSignal) => {
      const { blocks, complete, cut, accounts, entries } = await deps.collector().snapshot({ groups }, asOf, abandoned);
      deps.scraped(complete ? 'complete' : 'partial');
      const { families, dropped } = await familiesOf(blocks, deps.collection().max_series, abandoned);
      deps.dropped([...cut, ...dropped]);
      const own = wantsOwn ? await deps.ownMetrics(accounts, entries, families) : [];
      return { pieces: await writeExposition(families, own, form, abandoned), complete, countedFor: gone };
    };
    const writingFrom = deps.monotonic();
    try {
      const { pieces, complete, countedFor } = await makings.of(`${kind} ${form.format} ${form.gzip}`, gone, make);
      if (countedFor !== gone) deps.scraped(complete ? 'complete' : 'partial');
      const isTaken = await sendExposition(response, pieces, form, slot);
      if (!isTaken && gone.aborted) throw new ClientGoneError();
      // A HEAD request takes no body, so its time says nothing.
      if (isTaken && request.method === 'GET') writeTimes.set(kind, deps.monotonic() - writingFrom);
    } catch (error) {
      // Record the time even if the scraper gave up; otherwise the next response would be late too.
      if (error instanceof ClientGoneError) {
        writeTimes.set(kind, Math.max(deps.monotonic() - writingFrom, writeTimes.get(kind) ?? 0));
      }
      throw error;
    }
  };
}

/** `/probe`: one application of one account. A request names it by its id in the account's list, never by an address. */
export function probeHandler(deps: WebDependencies, lastScrapes: LastScrapes): LimitedHandler {
  let lastWrite = 0;
  return async (request, response, slot) => {
    const { account, applicationId, debug } = readProbeQuery(queryOf(request.originalUrl));
    const collection = deps.collection();
    const startedAt = deps.monotonic();
    lastScrapes.note(request.socket.remoteAddress, deps.now(), startedAt);
    const waitMs = timeToRespond(request, collection, lastWrite);
    const { gone } = slot;
    const collector = deps.collector();
    const result = await slot.waitFor((signal) => collector.probe(account, applicationId, waitMs, signal));
    if (result.kind === 'unknown_account') {
      throw new HttpError(404, 'There is no such account in the configuration.');
    }
    if (result.kind === 'unknown_application') {
      throw new HttpError(404, `The account has no application ${applicationId} among those that are exported.`);
    }
    const seconds = (deps.monotonic() - startedAt) / 1000;
    const { blocks, cut } = result.kind === 'result' ? result : { blocks: [], cut: [] };
    const writingFrom = deps.monotonic();
    const form = debug ? ({ format: 'text', gzip: false } as const) : expositionFormOf(request);
    const { families, dropped } = await unlessGone(familiesOf(blocks, collection.max_series, gone), gone);
    deps.dropped([...cut, ...dropped]);
    const own = outcome(result.kind === 'result' && result.success, seconds);
    const pieces = await unlessGone(writeExposition(families, own, form, gone), gone);
    if (debug) {
      response.setHeader('Content-Type', 'text/plain; charset=utf-8');
      const words = Buffer.from(inWords(account, applicationId, result, seconds));
      await sendPieces(response, [words, ...pieces], slot);
    } else if ((await sendExposition(response, pieces, form, slot)) && request.method === 'GET') {
      lastWrite = deps.monotonic() - writingFrom;
    }
  };
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

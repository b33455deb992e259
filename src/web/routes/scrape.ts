import type { OwnMetrics, OwnFamily } from '../../exposition/ownFamilies.ts';
import type { RenderedAnswer } from '../../exposition/exposition.ts';
import type { Group } from '../../metrics/sample.ts';
import {
  ClientGoneError,
  sendExposition,
  sendPieces,
  sendText,
  unlessGone,
  wantedBy,
  type PlacedHandler,
} from '../sending.ts';
import type { WebDependencies, ProbeResult } from '../dependencies.ts';
import { timeToAnswerTo, queryOf, readSelection, type Selection, readProbeQuery, type ProbeQuery } from '../request.ts';
import { PROBE } from '../../metrics/catalogueExporter.ts';

/**
 * The telemetry path: refreshes what is due until the scraper's deadline, then answers from what is held.
 * `collect[]=exporter` alone calls nothing upstream. Nothing more is done for a client that has gone. HEAD does the same
 * without sending the body, so that its header fields are those of GET.
 */
export function metricsHandler(deps: WebDependencies): PlacedHandler {
  const writeTimes = new WriteTimes();
  return async (request, response, place) => {
    const selection = readSelection(queryOf(request.originalUrl));
    const collection = deps.collection();
    const kind = kindOf(selection);
    const waitMs = timeToAnswerTo(request, collection, writeTimes.of(kind));
    const { groups } = selection;
    const asOf = deps.monotonic();
    const collector = deps.collector();
    const { gone } = place;
    if (!collection.background && groups.size > 0) {
      await place.waitFor((signal) => collector.refresh({ groups }, waitMs, signal));
    }
    const render = async (): Promise<RenderedAnswer> => {
      const { blocks, complete, cut, accounts } = await unlessGone(collector.answer({ groups }, asOf), gone);
      const ownMetrics = selection.own ? deps.ownMetrics(accounts) : undefined;
      deps.scraped(complete ? 'complete' : 'partial');
      const own: OwnMetrics = (counts) => {
        deps.dropped([...cut, ...counts.dropped]);
        return ownMetrics?.(counts) ?? [];
      };
      return unlessGone(deps.exposition.render(blocks, own, { ...wantedBy(request, collection), gone }), gone);
    };
    const writingFrom = deps.monotonic();
    try {
      if (await sendExposition(response, await render(), place)) writeTimes.set(kind, deps.monotonic() - writingFrom);
    } catch (error) {
      // Where nothing was learned of a scraper that gave up, the next one would come too late as well.
      if (error instanceof ClientGoneError) writeTimes.atLeast(kind, deps.monotonic() - writingFrom);
      throw error;
    }
  };
}

/** Answers of the same groups take about the same time to write. */
function kindOf({ groups, own }: Selection): string {
  const names: (Group | 'exporter')[] = [...groups].toSorted();
  if (own) names.push('exporter');
  return names.join();
}

/** What a probe returns when no list can be read. */
const NOTHING = { blocks: [], cut: [] };

/** `/probe`: one application of one account, by its id from the account's own list, never by address. */
export function probeHandler(deps: WebDependencies): PlacedHandler {
  const writeTimes = new WriteTimes();
  return async (request, response, place) => {
    const query = readProbeQuery(queryOf(request.originalUrl));
    const collection = deps.collection();
    const startedAt = deps.monotonic();
    const waitMs = timeToAnswerTo(request, collection, writeTimes.of('probe'));
    const { gone } = place;
    const collector = deps.collector();
    const result = await place.waitFor((signal) => collector.probe(query.account, query.applicationId, waitMs, signal));
    if (result.kind === 'unknown_account') {
      sendText(response, 404, 'There is no such account in the configuration.');
      return;
    }
    if (result.kind === 'unknown_application') {
      sendText(response, 404, `The account has no application ${query.applicationId} among those that are exported.`);
      return;
    }
    const seconds = (deps.monotonic() - startedAt) / 1000;
    const { blocks, cut } = result.kind === 'answer' ? result : NOTHING;
    const own: OwnMetrics = ({ dropped }) => {
      deps.dropped([...cut, ...dropped]);
      return outcome(result.kind === 'answer' && result.success, seconds);
    };
    const writingFrom = deps.monotonic();
    const wanted = wantedBy(request, collection);
    const options = query.debug ? ({ ...wanted, format: 'text', gzip: false, gone } as const) : { ...wanted, gone };
    const answer = await unlessGone(deps.exposition.render(blocks, own, options), gone);
    if (query.debug) {
      response.setHeader('Content-Type', 'text/plain; charset=utf-8');
      await sendPieces(response, [Buffer.from(inWords(query, result, seconds)), ...answer.pieces], place);
    } else if (await sendExposition(response, answer, place)) {
      writeTimes.set('probe', deps.monotonic() - writingFrom);
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

function inWords(query: ProbeQuery, result: Extract<ProbeResult, { notes: unknown }>, seconds: number): string {
  const lines = [
    `Probe of application ${query.applicationId} of account ${JSON.stringify(query.account)}`,
    `${verdict(result)} The probe took ${seconds.toFixed(3)} s.`,
    '',
    ...result.notes.map((note) => `- ${onOneLine(note)}`),
    '',
    'Metrics that the probe returns:',
    '',
  ];
  return `${lines.join('\n')}\n`;
}

function verdict(result: Extract<ProbeResult, { notes: unknown }>): string {
  if (result.kind === 'unreadable') return 'The list of applications cannot be read.';
  return result.success ? 'Nothing failed.' : 'Something failed.';
}

/** Milliseconds that the last answer of each kind took to render and send, as far as is known. */
class WriteTimes {
  readonly #times = new Map<string, number>();

  of(kind: string): number {
    return this.#times.get(kind) ?? 0;
  }

  set(kind: string, milliseconds: number): void {
    this.#times.set(kind, Math.max(0, milliseconds));
  }

  /** It takes so long or longer: the client has gone before its answer was made. */
  atLeast(kind: string, milliseconds: number): void {
    this.set(kind, Math.max(milliseconds, this.of(kind)));
  }
}

function onOneLine(note: string): string {
  return note
    .split('\n')
    .map((line) => line.trim())
    .join(' ');
}

import type { OwnFamily, OwnMetrics } from '../../exposition/own.ts';
import { PROBE } from '../../metrics/catalogueExporter.ts';
import { sendExposition, sendPieces, sendText, wantedBy } from '../answer.ts';
import type { ProbeResult, WebDependencies } from '../dependencies.ts';
import { clientGone, unlessGone } from '../server/clientGone.ts';
import { timeToAnswerTo } from './deadline.ts';
import type { Handler } from './handler.ts';
import { queryOf, readProbeQuery, type ProbeQuery } from './query.ts';
import { WriteTimes } from './writeTimes.ts';

/** What a probe returns when no list can be read. */
const NOTHING = { blocks: [], cut: [] };

/** `/probe`: one application of one account, by its id from the account's own list, never by address. */
export function probeHandler(deps: WebDependencies): Handler {
  const writeTimes = new WriteTimes();
  return async (request, response) => {
    const query = readProbeQuery(queryOf(request.originalUrl));
    const collection = deps.collection();
    const startedAt = deps.monotonic();
    const waitMs = timeToAnswerTo(request, collection, writeTimes.of('probe'));
    const gone = clientGone(request);
    const probed = deps.collector().probe(query.account, query.applicationId, waitMs);
    const result = await unlessGone(probed, gone);
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
    if (query.debug) {
      const plain = await deps.exposition.render(blocks, own, {
        ...wantedBy(request, collection),
        format: 'text',
        gzip: false,
      });
      response.setHeader('Content-Type', 'text/plain; charset=utf-8');
      await sendPieces(response, [Buffer.from(inWords(query, result, seconds)), ...plain.pieces]);
      return;
    }
    const answer = await unlessGone(deps.exposition.render(blocks, own, wantedBy(request, collection)), gone);
    if (await sendExposition(response, answer)) writeTimes.set('probe', deps.monotonic() - writingFrom);
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
    ...result.notes.map((note) => `- ${note.replace(/\s*\n\s*/g, ' ')}`),
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

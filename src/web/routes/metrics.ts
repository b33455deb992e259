import type { OwnMetrics } from '../../exposition/own.ts';
import type { RenderedAnswer } from '../../exposition/rendered.ts';
import type { Group } from '../../metrics/groups.ts';
import { sendExposition, wantedBy } from '../answer.ts';
import type { WebDependencies } from '../dependencies.ts';
import { clientGone, ClientGoneError, unlessGone } from '../server/clientGone.ts';
import { timeToAnswerTo } from './deadline.ts';
import type { Handler } from './handler.ts';
import { queryOf, readSelection, type Selection } from './query.ts';
import { WriteTimes } from './writeTimes.ts';

/**
 * The telemetry path: refreshes what is due until the scraper's deadline, then answers from what is held.
 * `collect[]=exporter` alone calls nothing upstream. Nothing more is done for a client that has gone. HEAD does the same
 * without sending the body, so that its header fields are those of GET.
 */
export function metricsHandler(deps: WebDependencies): Handler {
  const writeTimes = new WriteTimes();
  return async (request, response) => {
    const selection = readSelection(queryOf(request.originalUrl));
    const collection = deps.collection();
    const kind = kindOf(selection);
    const waitMs = timeToAnswerTo(request, collection, writeTimes.of(kind));
    const { groups } = selection;
    const asOf = deps.monotonic();
    const collector = deps.collector();
    const gone = clientGone(request);
    if (!collection.background && groups.size > 0) {
      await unlessGone(collector.refresh({ groups }, waitMs), gone);
    }
    const render = async (): Promise<RenderedAnswer> => {
      const { blocks, complete, cut, accounts } = await unlessGone(collector.answer({ groups }, asOf), gone);
      const ownMetrics = selection.own ? deps.ownMetrics(accounts) : undefined;
      deps.scraped(complete ? 'complete' : 'partial');
      const own: OwnMetrics = (counts) => {
        deps.dropped([...cut, ...counts.dropped]);
        return ownMetrics?.(counts) ?? [];
      };
      return unlessGone(deps.exposition.render(blocks, own, wantedBy(request, collection)), gone);
    };
    const writingFrom = deps.monotonic();
    try {
      if (await sendExposition(response, await render())) writeTimes.set(kind, deps.monotonic() - writingFrom);
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

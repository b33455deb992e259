import type { Group } from '../../metrics/groups.ts';
import { timeToAnswer } from '../deadline.ts';
import type { WebDependencies } from '../dependencies.ts';
import { queryOf, readSelection, type Selection } from '../query.ts';
import { wantedBy, writeAnswer, WriteTimes } from '../answerWriter.ts';
import type { Handler } from '../routes.ts';

/**
 * The telemetry path (contract 3 and 4): refreshes what is due until the scraper's deadline, then answers from what is
 * held. `collect[]=exporter` alone calls nothing upstream. HEAD does the same without sending the body, so that its
 * header fields are those of GET.
 */
export function metricsHandler(deps: WebDependencies): Handler {
  const writeTimes = new WriteTimes();
  return async (request, response) => {
    const selection = readSelection(queryOf(request.originalUrl));
    const collection = deps.collection();
    const kind = kindOf(selection);
    const budget = timeToAnswer({
      header: request.get('x-prometheus-scrape-timeout-seconds'),
      defaultTimeout: collection.default_scrape_timeout,
      offset: collection.scrape_timeout_offset,
      lastWrite: writeTimes.of(kind),
    });
    const { groups, own } = selection;
    const collector = deps.collector();
    if (!collection.background && groups.size > 0) await collector.refresh({ groups }, deps.now() + budget);
    const { blocks, complete } = groups.size > 0 ? collector.answer({ groups }) : { blocks: [], complete: true };
    deps.scraped(complete ? 'complete' : 'partial');
    const startedAt = deps.now();
    const answer = await deps.exposition.render(
      blocks,
      own ? deps.ownMetrics() : undefined,
      wantedBy(request, collection),
    );
    if (await writeAnswer(response, answer)) writeTimes.set(kind, deps.now() - startedAt);
  };
}

/** Answers of the same groups take about the same time to write. */
function kindOf({ groups, own }: Selection): string {
  const names: (Group | 'exporter')[] = [...groups].toSorted();
  if (own) names.push('exporter');
  return names.join();
}

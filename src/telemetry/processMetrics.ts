import type { OwnFamily } from '../exposition/own.ts';
import { Registry, collectDefaultMetrics } from '../exposition/promClient.ts';
import { registryFamilies } from '../exposition/registryFamilies.ts';

/** Gauges that end in `_total`, which `promtool check metrics` refuses. */
const REFUSED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

const LAG = 'nodejs_eventloop_lag_seconds';
const LAG_DISTRIBUTION = /^nodejs_eventloop_lag_(?:min|max|mean|stddev|p\d+)_seconds$/;

/** The client library's `process_*` and `nodejs_*` families. */
export class ProcessMetrics {
  readonly #registry = new Registry();

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    REFUSED.forEach((name) => this.#registry.removeSingleMetric(name));
    // The lag is measured from one answer to the next: the first answer would show a 0 that nobody measured.
    this.#registry.getSingleMetric(LAG)?.remove();
  }

  async families(): Promise<OwnFamily[]> {
    const families = await registryFamilies(this.#registry);
    return families.some(hasNoLag) ? families.filter(({ name }) => !LAG_DISTRIBUTION.test(name)) : families;
  }
}

/** Between two answers in quick succession nothing is measured: the mean is NaN, and the least is the highest number there is. */
function hasNoLag({ name, series }: OwnFamily): boolean {
  return LAG_DISTRIBUTION.test(name) && series.some(({ value }) => Number.isNaN(value));
}

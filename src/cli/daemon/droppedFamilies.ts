import type { Logger } from 'pino';
import type { DroppedSeries } from '../../metrics/sample.ts';

/** Logs which families lose series to a limit, each once until the configuration is loaded again. */
export class DroppedFamilies {
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #logged = new Set<string>();

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger;
  }

  log(series: readonly DroppedSeries[]): void {
    const families = [...new Set(series.map(({ family }) => family))].filter((family) => !this.#logged.has(family));
    if (families.length === 0) return;
    for (const family of families) this.#logged.add(family);
    this.#logger.warn({ families: families.join(' ') }, 'Series are left out: a limit is reached');
  }

  /** A configuration was loaded, perhaps with other limits. */
  forget(): void {
    this.#logged.clear();
  }
}

import type { Labels, Sample } from '../../metrics/sample.ts';

/** One series of an entity: as many times (Unix seconds) as values. Also how it is written to disk. */
export interface EntitySeries {
  /** Labels beyond those of the entity. */
  readonly labels: Labels;
  readonly times: number[];
  readonly values: number[];
}

/** The samples of one entity over time, by family and series in the order in which they first appeared. */
export class SeriesTable {
  readonly #families = new Map<string, Map<string, EntitySeries>>();

  add(time: number, samples: readonly Sample[]): void {
    for (const { family, labels = {}, value } of samples) {
      if (!Number.isFinite(value)) continue;
      const series = this.#series(family.name, labels);
      series.times.push(time);
      series.values.push(value);
    }
  }

  families(): (readonly [name: string, series: readonly EntitySeries[]])[] {
    return [...this.#families].map(([name, series]) => [name, [...series.values()]] as const);
  }

  #series(family: string, labels: Labels): EntitySeries {
    let ofFamily = this.#families.get(family);
    if (ofFamily === undefined) this.#families.set(family, (ofFamily = new Map<string, EntitySeries>()));
    const key = Object.values(labels).join('\0');
    let series = ofFamily.get(key);
    if (series === undefined) ofFamily.set(key, (series = { labels, times: [], values: [] }));
    return series;
  }
}

import type { Group } from '../src/reads/reads.ts';
import type { Family, Sample } from '../src/metrics/family.ts';
import { writeLabels, type WrittenLabels } from '../src/metrics/writeSamples.ts';

/** `flat`: one family, an entity per series. `spread`: 35 families for each entity. */
export type Shape = 'flat' | 'spread';

const FAMILIES_OF_SPREAD = 35;

/** The samples of an entity after a refresh. */
export interface EntitySamples extends WrittenLabels {
  readonly group: Group;
  readonly samples: readonly Sample[];
}

/** A fleet. Every refresh changes all values; labels stay the same objects, as in the collector. */
export class Fleet {
  readonly families: readonly Family[];
  readonly #entities: readonly WrittenLabels[];
  #state = 1;

  constructor(shape: Shape, series: number) {
    const perEntity = shape === 'flat' ? 1 : FAMILIES_OF_SPREAD;
    this.families = Array.from({ length: perEntity }, (_, index) => ({
      name: `newrelic_application_measurement_${index}_seconds`,
      help: 'A family of the benchmark.',
      type: 'gauge' as const,
      unit: 'seconds' as const,
      group: 'application_metrics' as const,
      labelNames: [],
    }));
    this.#entities = Array.from({ length: Math.ceil(series / perEntity) }, (_, index) => {
      const labels = {
        account: 'production',
        app: `checkout-service-${index}`,
        app_id: String(1_000_000 + index),
        team: `team-${index % 20}`,
      };
      return writeLabels(labels);
    });
  }

  refresh(): EntitySamples[] {
    return this.#entities.map((labels) => ({
      ...labels,
      group: 'application_metrics',
      samples: this.families.map((family): Sample => ({ family, labels: undefined, value: this.#value() })),
    }));
  }

  /** Returns the next value of a linear congruential sequence: the same in every run, with many digits. */
  #value(): number {
    this.#state = (this.#state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return (this.#state / 2 ** 32) * 3;
  }
}

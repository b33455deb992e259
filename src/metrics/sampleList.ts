import type { Family, Labels, Sample } from './sample.ts';

/** Collects the samples of one entity; what is absent upstream adds nothing. */
export class SampleList {
  readonly list: Sample[] = [];

  add(family: Family, value: number | undefined, labels?: Labels): void {
    if (value !== undefined) this.list.push({ family, labels, value });
  }
}

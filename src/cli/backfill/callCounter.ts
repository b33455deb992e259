import type { Progress } from '../terminal/progress.ts';

/** Counts the calls that are done and expected. How many are expected becomes known application by application. */
export class CallCounter {
  readonly #progress: Progress;
  #expected: number;
  #done = 0;

  constructor(progress: Progress, expected: number) {
    this.#progress = progress;
    this.#expected = expected;
    this.#show();
  }

  expect(more: number): void {
    this.#expected += more;
    this.#show();
  }

  done(more: number): void {
    this.#done += more;
    this.#show();
  }

  #show(): void {
    this.#progress.update(this.#done, this.#expected);
  }
}

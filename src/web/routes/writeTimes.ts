/** Milliseconds that the last answer of each kind took to render and send. */
export class WriteTimes {
  readonly #times = new Map<string, number>();

  of(kind: string): number {
    return this.#times.get(kind) ?? 0;
  }

  set(kind: string, milliseconds: number): void {
    this.#times.set(kind, Math.max(0, milliseconds));
  }
}

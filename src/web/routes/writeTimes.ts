/** Milliseconds that the last answer of each kind took to render and send, as far as is known. */
export class WriteTimes {
  readonly #times = new Map<string, number>();

  of(kind: string): number {
    return this.#times.get(kind) ?? 0;
  }

  set(kind: string, milliseconds: number): void {
    this.#times.set(kind, Math.max(0, milliseconds));
  }

  /** It takes so long or longer: the client has gone before its answer was made. */
  atLeast(kind: string, milliseconds: number): void {
    this.set(kind, Math.max(milliseconds, this.of(kind)));
  }
}

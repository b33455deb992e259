/** Switches the background refresh on and off as `collection.background` says. */
export class BackgroundTimer {
  readonly #start: () => () => void;
  #stop: (() => void) | undefined;

  /** `start` begins to refresh and gives what ends it. */
  constructor(start: () => () => void) {
    this.#start = start;
  }

  /** Goes on as it is where nothing changes. */
  set(isOn: boolean): void {
    if (isOn) this.#stop ??= this.#start();
    else this.stop();
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}

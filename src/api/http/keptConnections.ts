import type { Dispatcher } from 'undici';
import { createDispatcher } from './dispatcher.ts';
import type { DispatcherOptions } from './dispatcher.ts';

/** The connections of one reader, which are kept from call to call until the reader is replaced. */
export class KeptConnections {
  readonly #options: DispatcherOptions;
  readonly #kept: Dispatcher;
  /** Undefined until the reader is replaced. */
  #unkept: Dispatcher | undefined;

  /** @throws Error when the proxy's address is not a valid URL */
  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#kept = createDispatcher(options);
  }

  /** What the next call goes through. */
  get dispatcher(): Dispatcher {
    return this.#unkept ?? this.#kept;
  }

  /**
   * Gives up the connections: idle ones now, the others with the end of their calls. Calls that follow, such as the further
   * pages of a list, go through connections that are not kept.
   */
  retire(): void {
    if (this.#unkept !== undefined) return;
    this.#unkept = createDispatcher(this.#options, false);
    void this.#kept.close();
  }

  /** Closes all of them; calls in flight are aborted. */
  async close(): Promise<void> {
    await Promise.all([this.#kept.destroy(), this.#unkept?.destroy()]);
  }
}

/** NerdGraph refuses more calls at once than this from one key, whatever accounts they read. */
const PLACES_OF_KEY = 25;

/** Calls at once over several accounts, which one key shares. */
export class SharedPlaces {
  readonly #most: number;
  readonly #freed = new Set<() => void>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get free(): boolean {
    return this.#taken < this.#most;
  }

  take(): void {
    this.#taken += 1;
  }

  /** Gives a place back, and tells everybody who may wait for one. */
  release(): void {
    this.#taken -= 1;
    for (const freed of [...this.#freed]) freed();
  }

  /** @returns ends it */
  watch(freed: () => void): () => void {
    this.#freed.add(freed);
    return () => void this.#freed.delete(freed);
  }
}

/** The places of each key. */
export class PlacesOfKeys {
  readonly #byKey = new Map<string, SharedPlaces>();

  /** @param keyMark something that is another exactly when the key is another one */
  of(keyMark: string): SharedPlaces {
    let places = this.#byKey.get(keyMark);
    if (places === undefined) this.#byKey.set(keyMark, (places = new SharedPlaces(PLACES_OF_KEY)));
    return places;
  }

  /** Forgets the keys that nothing uses any more. */
  keepOnly(keyMarks: ReadonlySet<string>): void {
    for (const keyMark of this.#byKey.keys()) if (!keyMarks.has(keyMark)) this.#byKey.delete(keyMark);
  }
}

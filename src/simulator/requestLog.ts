import type { CallKind, GraphqlKind } from './callKinds.ts';

/** A call as the service saw it. No key is kept. */
export interface LoggedRequest {
  /** By the simulator's clock, in milliseconds since 1970. */
  readonly at: number;
  /** By a clock that nobody can set, in milliseconds: for rates. */
  readonly elapsed: number;
  readonly method: string;
  readonly path: string;
  /** As it came, still encoded, without the question mark. */
  readonly query: string;
  readonly kind: CallKind | undefined;
  readonly applicationId: number | undefined;
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  readonly keyHeader: 'X-Api-Key' | 'Api-Key' | undefined;
  readonly keyValid: boolean;
  /** Calls under way when this one came, itself included. */
  readonly concurrent: number;
  /** What a GraphQL document asked for, in its order; undefined for calls of the REST interface. */
  readonly operations?: readonly LoggedOperation[];
}

/** One thing a GraphQL document asked for. */
export interface LoggedOperation {
  readonly kind: GraphqlKind;
  /** The NRQL query, the search, or the guids; empty for accounts. */
  readonly text: string;
  /** Rows or entities in the answer; undefined when there was none. */
  rows?: number;
  /** Why there was no answer. */
  error?: string;
}

/** A from/to pair of metric data calls and how many sent it. */
export interface SentRange {
  readonly from: string | null;
  readonly to: string | null;
  readonly calls: number;
}

const KEPT = 100_000;

/** What was asked of the service: for tests and rehearsals. Entries are the newest hundred thousand; counts are all. */
export class RequestLog {
  #entries: LoggedRequest[] = [];
  #byKind = new Map<CallKind | 'other', number>();
  #statuses = new Map<number | 'none', number>();
  #running = 0;
  #maxConcurrency = 0;

  /** Notes a call; the function it gives is to be called once, with the status sent, or undefined when none was. */
  begin(request: Omit<LoggedRequest, 'concurrent'>): (status: number | undefined) => void {
    this.#running += 1;
    this.#maxConcurrency = Math.max(this.#maxConcurrency, this.#running);
    if (this.#entries.length >= 2 * KEPT) this.#entries = this.#entries.slice(-KEPT);
    this.#entries.push({ ...request, concurrent: this.#running });
    const kind = request.kind ?? 'other';
    this.#byKind.set(kind, (this.#byKind.get(kind) ?? 0) + 1);
    return (status) => {
      this.#running -= 1;
      this.#statuses.set(status ?? 'none', (this.#statuses.get(status ?? 'none') ?? 0) + 1);
    };
  }

  /** The calls, oldest first; of one kind when given. */
  all(kind?: CallKind): readonly LoggedRequest[] {
    const kept = this.#entries.slice(-KEPT);
    return kind === undefined ? kept : kept.filter((entry) => entry.kind === kind);
  }

  /** How many calls there were; of one kind when given. */
  count(kind?: CallKind | 'other'): number {
    if (kind !== undefined) return this.#byKind.get(kind) ?? 0;
    return [...this.#byKind.values()].reduce((sum, calls) => sum + calls, 0);
  }

  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#byKind);
  }

  /** How many answers had each status; `none` for connections that ended before one. */
  statuses(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#statuses);
  }

  get running(): number {
    return this.#running;
  }

  get maxConcurrency(): number {
    return this.#maxConcurrency;
  }

  /** The most calls that came within any `milliseconds`. */
  busiest(milliseconds = 60_000): number {
    const times = this.all().map(({ elapsed }) => elapsed);
    let first = 0;
    let most = 0;
    times.forEach((time, index) => {
      while (time - (times[first] ?? time) >= milliseconds) first += 1;
      most = Math.max(most, index - first + 1);
    });
    return most;
  }

  /** The distinct from/to pairs of the metric data calls. */
  ranges(): readonly SentRange[] {
    const found = new Map<string, SentRange>();
    for (const { query } of this.all('metric_data')) {
      const parameters = new URLSearchParams(query);
      const from = parameters.get('from');
      const to = parameters.get('to');
      const key = JSON.stringify([from, to]);
      found.set(key, { from, to, calls: (found.get(key)?.calls ?? 0) + 1 });
    }
    return [...found.values()];
  }

  /** Forgets everything but the calls under way. */
  clear(): void {
    this.#entries = [];
    this.#byKind.clear();
    this.#statuses.clear();
    this.#maxConcurrency = this.#running;
  }
}

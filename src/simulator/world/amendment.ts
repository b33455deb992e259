/** A time during which an application is slow and fails more often than usual. */
export interface Incident {
  /** First minute, and the first minute after it, counted from 1970. */
  readonly fromMinute: number;
  readonly toMinute: number;
  /** Multiplies every response time. */
  readonly responseFactor: number;
  /** Share of requests that fail while it lasts, if more than usual. */
  readonly errorRatio: number;
}

/** Exact traffic of an application in every minute, in place of the generated one. */
export interface FixedTraffic {
  readonly requestsPerMinute: number;
  readonly responseSeconds: number;
  readonly errorsPerMinute: number;
  readonly backgroundPerMinute: number;
}

/** What was changed about one application by hand; the rest of it stays a function of seed and time. */
export interface Amendment {
  readonly removed?: boolean | undefined;
  readonly name?: string | undefined;
  /** Nothing is reported from this minute on. */
  readonly silentFromMinute?: number | undefined;
  readonly incidents?: readonly Incident[] | undefined;
  readonly traffic?: FixedTraffic | undefined;
}

export type Amendments = ReadonlyMap<number, Amendment>;

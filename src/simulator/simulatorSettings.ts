/** The key that opens a simulator which was not given any: a made-up one, in the form of a user key. */
export const DEMO_API_KEY = 'NRAK-SIMULATOR0000000000000000';

/** Behaviours of the service that are switches because nobody knows, or because a test wants the other one. */
export interface ServiceSettings {
  /** Round figures to three significant digits, unless a metric data call says `raw=true`. */
  readonly rounding: boolean;
  /** Timeslices end with their last second, as they did in 2014, rather than with the minute after it. */
  readonly inclusiveTo: boolean;
  /** Metric data say which names were found and which not; bodies of 2014 do not. */
  readonly metricsFound: boolean;
  /** 429 beyond this many calls in a minute of the clock; 0 for no limit. */
  readonly callsPerMinute: number;
  /** The account that NerdGraph answers for. */
  readonly accountId: number;
  /** The accounts that NerdGraph names to the key; undefined: that of `accountId` alone. It shows nothing of one that is not named. */
  readonly accounts: readonly { readonly id: number; readonly name: string }[] | undefined;
  /** NRQL queries beyond this many in a minute of the clock get an error; 0 for no limit. */
  readonly nrqlPerMinute: number;
  /** Long ranges of NRQL over metrics are answered for whole steps: 5 minutes from an hour on, 10 from a day on. */
  readonly nrqlSnapping: boolean;
}

/** The settings of a simulator that was not told otherwise. */
export const DEFAULT_SETTINGS: ServiceSettings = {
  rounding: true,
  inclusiveTo: false,
  metricsFound: true,
  callsPerMinute: 0,
  accountId: 1_234_567,
  accounts: undefined,
  nrqlPerMinute: 3000,
  nrqlSnapping: false,
};

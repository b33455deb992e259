/** An account that the key sees. */
export interface AccountOptions {
  readonly id: number;
  readonly name: string | null;
  /** The number of applications; undefined: as many as the world. */
  readonly applications?: number | undefined;
}

/** The default key: invented, in the form of a user key. */
export const DEMO_API_KEY = 'NRAK-SIMULATOR0000000000000000';

/**
 * The defaults of settings. Each switches a behaviour of New Relic that is undocumented, or that tests need in both
 * forms.
 */
export const DEFAULT_SETTINGS = {
  /** Rounds figures to three significant digits, unless a metric data call has `raw=true`. */
  rounding: true,
  /** A timeslice of 12:00 ends at 12:00:59, as in 2014, rather than at 12:01:00. */
  inclusiveTo: false,
  /** Lists found and missing names in metric data; bodies of 2014 do not. */
  metricsFound: true,
  /** 429 beyond this many calls in a minute of the clock; 0 for no limit. */
  callsPerMinute: 0,
  /** The accounts that NerdGraph shows to the key, each with its own world. Undefined: the account of the world. */
  accounts: undefined as readonly AccountOptions[] | undefined,
  /** The user of each key. All other keys belong to one user. */
  users: undefined as Readonly<Record<string, number>> | undefined,
  /** The most NRQL queries in a minute of the clock, before errors; 0 for no limit. */
  nrqlPerMinute: 3000,
  /** The most calls with one key and query in a minute of the clock, before 429; 0 for no limit. */
  identicalPerMinute: 120,
  /** Moves long ranges of metrics to whole steps: 5 minutes from an hour on, 10 from a day on. */
  nrqlSnapping: false,
};

export type ServiceSettings = Readonly<typeof DEFAULT_SETTINGS>;

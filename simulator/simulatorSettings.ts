/** An account that the key sees. */
export interface AccountOptions {
  readonly id: number;
  readonly name: string | null;
  /** How many applications it has; undefined: as many as the world. */
  readonly applications?: number | undefined;
}

/** The default key: an invented one, in the form of a user key. */
export const DEMO_API_KEY = 'NRAK-SIMULATOR0000000000000000';

/**
 * Behaviours of New Relic that are switches because they are undocumented, or because a test needs both forms; these are the
 * defaults.
 */
export const DEFAULT_SETTINGS = {
  /** Round figures to three significant digits, unless a metric data call says `raw=true`. */
  rounding: true,
  /** A timeslice of 12:00 ends at 12:00:59, as in 2014, rather than at 12:01:00. */
  inclusiveTo: false,
  /** Metric data list the names that were found and not found; bodies of 2014 do not. */
  metricsFound: true,
  /** 429 beyond this many calls in a minute of the clock; 0 for no limit. */
  callsPerMinute: 0,
  /** The accounts that NerdGraph shows to the key, each with a world of its own; undefined: the account of the world. */
  accounts: undefined as readonly AccountOptions[] | undefined,
  /** The user of each key. All keys that are not listed belong to one user. */
  users: undefined as Readonly<Record<string, number>> | undefined,
  /** NRQL queries beyond this many in a minute of the clock get an error; 0 for no limit. */
  nrqlPerMinute: 3000,
  /** Calls of one key beyond this many with the same NRQL query in a minute of the clock get 429; 0 for no limit. */
  identicalPerMinute: 120,
  /** Long ranges of NRQL over metrics are moved to whole steps: 5 minutes from an hour on, 10 from a day on. */
  nrqlSnapping: false,
};

export type ServiceSettings = Readonly<typeof DEFAULT_SETTINGS>;

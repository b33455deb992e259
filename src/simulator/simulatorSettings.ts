/** The key that opens a simulator which was not given any: a made-up one, in the form of a user key. */
export const DEMO_API_KEY = 'NRAK-SIMULATOR0000000000000000';

/** Behaviours of the service that are switches because nobody knows, or because a test wants the other one. */
export interface ServiceSettings {
  /** Round figures to three significant digits, unless a metric data call says `raw=true`. */
  readonly rounding: boolean;
  /** Answer 200 with an empty body when no `Accept` is sent. */
  readonly emptyWithoutAccept: boolean;
  /** Whether `next` addresses repeat the filters of the request. */
  readonly linksKeepFilters: boolean;
  /** How a metric name list of several pages ends: with an empty cursor, or with no next address. */
  readonly endOfNames: 'empty' | 'none';
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
  /** A longer NRQL query is too big: nobody knows the service's own figure. */
  readonly nrqlCharacters: number;
  /** An NRQL answer of more rows is too big. */
  readonly nrqlRows: number;
  /** Long ranges of NRQL over metrics are answered for whole steps: 5 minutes from an hour on, 10 from a day on. */
  readonly nrqlSnapping: boolean;
  /** "No application was matched" already when one id of several is unknown, not only when all are. */
  readonly nrqlMatchesAll: boolean;
  /** GraphQL calls of one key at once; 429 beyond. */
  readonly callsAtOnce: number;
}

/** The settings of a simulator that was not told otherwise. */
export const DEFAULT_SETTINGS: ServiceSettings = {
  rounding: true,
  emptyWithoutAccept: true,
  linksKeepFilters: true,
  endOfNames: 'empty',
  inclusiveTo: false,
  metricsFound: true,
  callsPerMinute: 0,
  accountId: 1_234_567,
  accounts: undefined,
  nrqlPerMinute: 3000,
  nrqlCharacters: 10_000,
  nrqlRows: 50_000,
  nrqlSnapping: false,
  nrqlMatchesAll: false,
  callsAtOnce: 25,
};

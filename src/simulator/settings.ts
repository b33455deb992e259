/** The key that opens a simulator which was not given any: a made-up one, in the form of a user key. */
export const DEMO_API_KEY = 'NRAK-SIMULATOR0000000000000000';

/** Behaviours of the service that are switches because nobody knows, or because a test wants the other one. */
export interface ServiceSettings {
  /** Round figures to three significant digits, unless a metric data call says `raw=true`. */
  readonly rounding: boolean;
  /** Answer 200 with an empty body when no `Accept` is sent (api-facts 1). */
  readonly emptyWithoutAccept: boolean;
  /** Whether `next` addresses repeat the filters of the request. */
  readonly linksKeepFilters: boolean;
  /** How a metric name list of several pages ends: with an empty cursor, or with no next address. */
  readonly endOfNames: 'empty' | 'none';
  /** 429 beyond this many calls in a minute of the clock; 0 for no limit. */
  readonly callsPerMinute: number;
}

export const DEFAULT_SETTINGS: ServiceSettings = {
  rounding: true,
  emptyWithoutAccept: true,
  linksKeepFilters: true,
  endOfNames: 'empty',
  callsPerMinute: 0,
};

/** The most facets that New Relic gives for one query; it leaves out further ones without saying so ("Rate limits for NRQL"). */
export const MAX_FACETS = 5_000;
/** The most attributes that New Relic groups by. */
export const MAX_FACET_ATTRIBUTES = 5;
/** The most buckets of TIMESERIES. */
export const MAX_BUCKETS = 366;
/** The most facets that a query is planned to return; the 500 below the limit are room for facets that appear later. */
export const PLANNED_FACETS = 4_500;

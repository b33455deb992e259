import type { Condition } from './condition.ts';

export const FUNCTIONS = ['count', 'sum', 'average', 'min', 'max', 'uniques'] as const;
type FunctionName = (typeof FUNCTIONS)[number];

/** The attributes of a record that a condition may name, a FACET may group by, and `uniques` may list. */
export const ATTRIBUTES = ['appId', 'appName', 'host', 'entity.guid', 'metricTimesliceName', 'scope'] as const;
export type Attribute = (typeof ATTRIBUTES)[number];

/** The six numbers of a stored timeslice. */
export const FIELDS = ['count', 'total', 'totalExclusive', 'min', 'max', 'sumOfSquares'] as const;
export type Field = (typeof FIELDS)[number];

/** The values of records: timeslices of applications, and the two metrics of key transactions. */
export const TIMESLICE_VALUE = 'newrelic.timeslice.value';
export const KEY_TRANSACTION_DURATION = 'apm.key.transaction.duration';
export const KEY_TRANSACTION_ERRORS = 'apm.key.transaction.error.count';
export const VALUES = [TIMESLICE_VALUE, KEY_TRANSACTION_DURATION, KEY_TRANSACTION_ERRORS] as const;

/** What a function works on. */
export type Expression =
  | { readonly kind: 'value'; readonly value: (typeof VALUES)[number] }
  | { readonly kind: 'field'; readonly field: Field }
  | { readonly kind: 'attribute'; readonly attribute: Attribute; readonly most: number };

/** One column of the answer. */
export interface SelectedFunction {
  readonly name: FunctionName;
  readonly of: Expression;
  /** Its key in the rows. */
  readonly key: string;
}

/** A query that was read. Times are milliseconds since 1970; undefined where it does not say. */
export interface NrqlQuery {
  readonly select: readonly SelectedFunction[];
  readonly where: Condition | undefined;
  readonly facets: readonly Attribute[];
  readonly since: number | undefined;
  readonly until: number | undefined;
  /** How many facets are answered; `Infinity` for LIMIT MAX. */
  readonly limit: number | undefined;
  /** Minutes per bucket of TIMESERIES. */
  readonly bucketMinutes: number | undefined;
}

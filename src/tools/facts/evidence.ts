import { FAILURE_REASONS } from '../../api/upstreamError.ts';
import { FACTS, type FactId } from './facts.ts';

/** The quantities that are counted. */
export const COUNTS = ['rows', 'hosts', 'pages', 'names'] as const;

/** The minutes after its end at which a minute is read again. */
export const AGES = [2, 3, 5, 10] as const;

/** The ratios that evidence may hold. */
export const RATIOS = [
  ...(['seen by expected', 'answered by asked', 'shift by asked', 'best fit'] as const),
  ...AGES.map((age) => `of the final count after ${age} minutes` as const),
];

const words = (text: string): readonly string[] => text.split(/\s+/);

/** The words that evidence may hold, by subject. Any other becomes `other`, so that no name of the account can appear. */
export const WORDS = {
  form: [
    ...['3 minutes', '4 minutes', '10 minutes', '30 minutes', 'seconds', 'milliseconds', 'per second', 'per minute'],
    ...['per hour', 'fraction', 'percent', 'sum of the minutes', 'mean of the minutes', 'all processes', 'other'],
  ],
  shape: [
    ...['absent', 'zeros', 'empty', 'present', 'number', 'text', 'list of texts', 'list', 'object', 'null'],
    ...['key "75"', 'key "75.0"', 'rounded', 'unrounded', 'ascending', 'descending', 'unordered', 'cut', 'error'],
    ...['without quotes', 'in quotes', 'filter kept', 'filter lost', 'other', 'no cursor'],
  ],
  failure: FAILURE_REASONS,
  'error class': words(`INVALID_INPUT SERVER_ERROR INTERNAL_SERVER_ERROR TIMEOUT TOO_MANY_REQUESTS BAD_API_KEY
    ACCESS_DENIED FORBIDDEN DataFetchingException NRDB:1102004 NRDB:1106924 NRDB:1101002 none`),
  language: words('c dotnet elixir go java nodejs php python ruby sdk'),
  'database type': words(`ActiveRecord Cassandra Couchbase DynamoDB Elasticsearch Firestore JDBC MSSQL Memcached MongoDB
    MySQL Neptune ODBC OpenSearch Oracle Postgres Redis SQLite Solr Valkey`),
  field: [...FACTS.flatMap(({ fields = [] }) => fields), 'select', 'from', 'eventId'],
  delay: ['2m', '3m', '5m', '10m', 'more than 10m'],
} as const;

/** One observation: a number, or a word of a fixed list. */
export type Seen =
  | { readonly of: (typeof COUNTS)[number]; readonly count: number }
  | { readonly of: (typeof RATIOS)[number]; readonly ratio: number }
  | { readonly of: keyof typeof WORDS; readonly word: string };

/** The reasons why an account cannot decide a fact. */
export const REASONS = [
  ...(['no reporting application', 'no host', 'no application with one to three hosts', 'no key transaction'] as const),
  ...(['no second interface', 'no traffic', 'traffic hardly changes', 'no window fits', 'no errors'] as const),
  ...(['no browser data', 'no application without errors'] as const),
  ...(['no list of several pages', 'too few metric names', 'too few rows', 'too few entities'] as const),
  ...(['too few events', 'no database', 'needs --wait', 'another fact differs', 'the call failed'] as const),
  'the calls are spent',
] as const;
export type Reason = (typeof REASONS)[number];

/** The verdict of an account on one fact, and what was observed. */
export type Judged = { readonly seen: readonly Seen[] } & (
  | { readonly verdict: 'as assumed' | 'differs' }
  | {
      readonly verdict: 'not decidable here';
      readonly why: Reason;
      /** The fact that this one depends on, and that is not as assumed. */
      readonly needs?: FactId;
    }
);

export const count = (of: (typeof COUNTS)[number], value: number): Seen => ({ of, count: value });
export const ratio = (of: (typeof RATIOS)[number], value: number): Seen => ({ of, ratio: value });
export const word = (of: keyof typeof WORDS, text: string): Seen => ({ of, word: text });

export const undecided = (why: Reason, ...seen: readonly Seen[]): Judged => ({
  verdict: 'not decidable here',
  why,
  seen,
});

/** The verdict `as assumed` when the fact holds, else `differs`. */
export function holds(isSo: boolean, ...seen: readonly Seen[]): Judged {
  return { verdict: isSo ? 'as assumed' : 'differs', seen };
}

/** The evidence in a form that is safe to share: words of the lists only, counts rounded to two digits, ratios to three. */
export function shareable(seen: Seen): Record<string, string | number> {
  if ('count' in seen) return { of: seen.of, count: digits(seen.count, 2) };
  if ('ratio' in seen) return { of: seen.of, ratio: digits(seen.ratio, 3) };
  const known: readonly string[] = WORDS[seen.of];
  return { of: seen.of, word: known.includes(seen.word) ? seen.word : 'other' };
}

/** The evidence as a sentence, with the same numbers and words. */
export function sentenceOf(seen: readonly Seen[]): string {
  return seen.map((each) => Object.values(shareable(each)).join(' ')).join(', ');
}

function digits(value: number, precision: number): number {
  return Number.isFinite(value) ? Number(value.toPrecision(precision)) : 0;
}

import { FAILURE_REASONS } from '../../api/upstreamError.ts';
import { PACK_EVENTS } from './packFacts.ts';

/** The quantities that are counted. */
export const COUNTS = ['rows', 'hosts'] as const;

/** The minutes after its end at which a minute is read again. */
export const AGES = [2, 3, 5, 10] as const;

/** The ratios that evidence may hold. */
export const RATIOS = [
  ...(['seen by expected', 'answered by asked', 'shift by asked'] as const),
  ...AGES.map((age) => `of the final count after ${age} minutes` as const),
];

const words = (text: string): readonly string[] => text.split(/\s+/);

/** The words that evidence may hold, by subject. Any other becomes `other`, so that no name of the account can appear. */
export const WORDS = {
  shape: [
    ...['absent', 'zeros', 'present', 'number', 'string', 'list of texts', 'list', 'object', 'null', 'undefined'],
    ...['key "75"', 'key "75.0"', 'ascending', 'descending', 'unordered', 'by sum', 'by records', 'error'],
    ...['without quotes', 'in quotes', 'sum of counts', 'number of points', 'no cursor'],
  ],
  failure: FAILURE_REASONS,
  'error class': words(`INVALID_INPUT SERVER_ERROR INTERNAL_SERVER_ERROR TIMEOUT TOO_MANY_REQUESTS BAD_API_KEY
    ACCESS_DENIED FORBIDDEN DataFetchingException NRDB:1102004 NRDB:1106924 NRDB:1101002 none`),
  language: words('c dotnet elixir go java nodejs php python ruby sdk'),
  field: [...PACK_EVENTS.flatMap(({ fields }) => fields), 'select', 'from', 'eventId'],
  delay: ['2m', '3m', '5m', '10m', 'more than 10m'],
} as const;

/** One observation: a number, or a word of a fixed list. */
export type Seen =
  | { readonly of: (typeof COUNTS)[number]; readonly count: number }
  | { readonly of: (typeof RATIOS)[number]; readonly ratio: number }
  | { readonly of: keyof typeof WORDS; readonly word: string };

/** The reasons why an account cannot decide a fact. */
export const REASONS = [
  ...(['no reporting application', 'no host', 'no key transaction', 'no traffic', 'traffic hardly changes'] as const),
  ...(['too few rows', 'too few entities', 'too few events', 'needs --wait', 'another fact differs'] as const),
  ...(['the call failed', 'the calls are spent'] as const),
];
type Reason = (typeof REASONS)[number];

/** The verdict of an account on one fact, and what was observed. */
export type Judged = { readonly seen: readonly Seen[] } & (
  | { readonly verdict: 'as assumed' | 'differs' }
  | {
      readonly verdict: 'not decidable here';
      readonly why: Reason;
      /** The fact that this one depends on, and that is not as assumed. */
      readonly needs?: string;
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

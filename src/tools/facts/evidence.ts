import { FAILURE_REASONS } from '../../api/upstreamError.ts';

/** The minutes after its end at which a minute is read again. */
export const AGES = [2, 3, 5, 10] as const;

type Subject = 'shape' | 'failure' | 'error class' | 'language' | 'field' | 'delay';

/** The words that evidence may hold, by subject; of fields, also what a pack reads. */
export const WORDS: Readonly<Record<Subject, readonly string[]>> = {
  shape: `absent, number, string, list of texts, list, object, null, undefined, key "75", key "75.0", unordered, by sum,
    by records, without quotes, in quotes, sum of counts, number of points`.split(/,\s+/),
  failure: FAILURE_REASONS,
  'error class': `INVALID_INPUT SERVER_ERROR INTERNAL_SERVER_ERROR TIMEOUT TOO_MANY_REQUESTS BAD_API_KEY ACCESS_DENIED
    FORBIDDEN DataFetchingException NRDB:1102004 NRDB:1106924 NRDB:1101002 none`.split(/\s+/),
  language: ['c', 'dotnet', 'elixir', 'go', 'java', 'nodejs', 'php', 'python', 'ruby', 'sdk'],
  field: ['select', 'from', 'eventId'],
  delay: [...AGES.map((age) => `${age}m`), 'more than 10m'],
};

/** One observation, which is safe to share: a count of two digits, a ratio of three, or a word of a fixed list. */
export type Seen = { readonly of: string } & (
  { readonly count: number } | { readonly ratio: number } | { readonly word: string }
);

type Ratio = 'seen by expected' | 'answered by asked' | 'shift by asked' | `of the final count after ${number} minutes`;

const roundDigits = (value: number, precision: number): number =>
  Number.isFinite(value) ? Number(value.toPrecision(precision)) : 0;

export const observeCount = (subject: 'rows' | 'hosts', value: number): Seen => ({
  of: subject,
  count: roundDigits(value, 2),
});
export const observeRatio = (subject: Ratio, value: number): Seen => ({ of: subject, ratio: roundDigits(value, 3) });
/** A word of the list becomes evidence; any other becomes `other`, so that no name of the account can appear. */
export function observeWord(subject: Subject, text: string, known = WORDS[subject]): Seen {
  return { of: subject, word: known.includes(text) ? text : 'other' };
}

/** The reasons why an account cannot decide a fact. */
export const REASONS = [
  ...(['no reporting application', 'no host', 'no key transaction', 'no traffic', 'traffic hardly changes'] as const),
  ...(['too few rows', 'too few entities', 'too few events'] as const),
  ...(['needs --wait', 'another fact differs', 'the call failed'] as const),
];
type Reason = (typeof REASONS)[number];

/** The verdict of an account on one fact, and what was observed. */
export interface Judged {
  readonly verdict: 'as assumed' | 'differs' | 'not decidable here';
  /** Why it is not decidable. */
  readonly why?: Reason;
  /** The fact that this one depends on, and that is not as assumed. */
  readonly needs?: string;
  readonly seen: readonly Seen[];
}

export function leaveUndecided(why: Reason, ...seen: readonly Seen[]): Judged {
  return { verdict: 'not decidable here', why, seen };
}

/** The verdict `as assumed` when the fact holds, else `differs`. */
export function decide(isSo: boolean, ...seen: readonly Seen[]): Judged {
  return { verdict: isSo ? 'as assumed' : 'differs', seen };
}

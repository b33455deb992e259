import { KNOWN_CODES } from '../../api/nerdgraph/failures.ts';
import { FAILURE_REASONS } from '../../api/upstreamError.ts';

/** Ages at which to read a minute again, in minutes after its end. */
export const AGES = [2, 3, 5, 10] as const;

type Subject = 'shape' | 'failure' | 'error class' | 'language' | 'field' | 'delay';

/** The words that evidence may contain, by subject. The fields of packs are allowed, too. */
export const WORDS: Readonly<Record<Subject, readonly string[]>> = {
  shape: `absent, number, string, list of texts, list, object, null, undefined, key "75", key "75.0", unordered, by sum,
    by records, without quotes, in quotes, sum of counts, number of points`.split(/,\s+/),
  failure: FAILURE_REASONS,
  // The first two classes alone decide no meaning: the words of the message do.
  'error class': ['INVALID_INPUT', 'NRDB:1102004', ...KNOWN_CODES, 'none'],
  language: ['c', 'dotnet', 'elixir', 'go', 'java', 'nodejs', 'php', 'python', 'ruby', 'sdk'],
  field: ['select', 'from', 'eventId'],
  delay: [...AGES.map((age) => `${age}m`), 'more than 10m'],
};

/** An observation that is safe to share: a count of two digits, a ratio of three digits, or a word of a fixed list. */
export type Seen = { readonly of: string } & (
  { readonly count: number } | { readonly ratio: number } | { readonly word: string }
);

type Ratio = 'seen by expected' | 'answered by asked' | 'shift by asked' | `of the final count after ${number} minutes`;

const roundDigits = (value: number, precision: number): number =>
  Number.isFinite(value) ? Number(value.toPrecision(precision)) : 0;

export function observeCount(subject: 'rows' | 'hosts', value: number): Seen {
  return { of: subject, count: roundDigits(value, 2) };
}
export function observeRatio(subject: Ratio, value: number): Seen {
  return { of: subject, ratio: roundDigits(value, 3) };
}
/** Replaces a word that is not in the list by `other`, so that no name of the account can appear. */
export function observeWord(subject: Subject, text: string, known = WORDS[subject]): Seen {
  return { of: subject, word: known.includes(text) ? text : 'other' };
}

export const REASONS = [
  ...(['no reporting application', 'no host', 'no key transaction', 'no traffic', 'traffic hardly changes'] as const),
  ...(['too few rows', 'too few entities', 'too few events'] as const),
  ...(['needs --wait', 'another fact differs', 'the call failed'] as const),
];
type Reason = (typeof REASONS)[number];

export interface Judged {
  readonly verdict: 'as assumed' | 'differs' | 'not decidable here';
  /** Set for `not decidable here`. */
  readonly why?: Reason;
  /** A fact that this fact depends on, and that is not as assumed. */
  readonly needs?: string;
  readonly seen: readonly Seen[];
}

export function leaveUndecided(why: Reason, ...seen: readonly Seen[]): Judged {
  return { verdict: 'not decidable here', why, seen };
}

export function decide(isSo: boolean, ...seen: readonly Seen[]): Judged {
  return { verdict: isSo ? 'as assumed' : 'differs', seen };
}

import type { Account } from './account.ts';
import { all, any, filled, isLike, not } from './nrql.ts';
import type { Condition, Selection } from './nrql.ts';
import { checkAnswer } from './nrqlAnswer.ts';
import type { Group, Transport } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import { isList, isObject } from '../http/shapes.ts';
import type { CallOptions, TimeRange } from '../reader.ts';

/** The most names that the service gives for one query; it does not say when there are more. */
const MOST_NAMES = 10_000;
/** Each is a query; more names than this are no list for a person. */
const MOST_QUERIES = 500;
const SELECTION: Selection = { of: 'uniques', from: 'metricTimesliceName', most: MOST_NAMES, as: 'names' };
/** Of so many names that begin alike, the beginning that all of them share is asked for at once. */
const MANY = 1_000;
/** What a column is called where no other name was taken over. */
const UNNAMED = 'uniques.metricTimesliceName';

export interface NamesQuery {
  readonly group: Group;
  readonly where: Condition;
  readonly range: TimeRange;
  readonly onQuery?: (queries: number, names: number) => void;
}

/** Names that begin with `prefix`, but not with any of `except`. */
interface Branch {
  readonly prefix: string;
  readonly except: readonly string[];
}

/**
 * The different names of the metrics that meet a condition, sorted. Where there are more than one query gives, they are read
 * by their beginnings.
 */
export async function readUniqueNames(
  transport: Transport,
  account: Account,
  { group, where: condition, range, onQuery }: NamesQuery,
  call: CallOptions,
): Promise<readonly string[]> {
  const names = new Set<string>();
  const open: Branch[] = [{ prefix: '', except: [] }];
  let queries = 0;
  for (let branch = open.pop(); branch !== undefined; branch = open.pop()) {
    const accountId = await account.id(call);
    const where = all([condition, ...conditionsOf(branch)]);
    const query = { select: [SELECTION], where, range } as const;
    const answer = await transport.whole({ group, account: accountId, query, forSeveral: false }, call);
    const found = transport.checked(group, () => namesOf(answer, range));
    queries += 1;
    for (const name of found) names.add(name);
    onQuery?.(queries, names.size);
    if (found.length >= MOST_NAMES) open.push(...branches(branch, found, () => transport.fail(group, tooMany())));
    if (open.length > 0 && queries >= MOST_QUERIES) throw transport.fail(group, tooMany());
  }
  return [...names].sort();
}

function conditionsOf({ prefix, except }: Branch): Condition[] {
  const begins = (text: string): Condition => isLike('metricTimesliceName', `${text}%`);
  const excluded = filled(except.map(begins));
  return [...(prefix === '' ? [] : [begins(prefix)]), ...(excluded === undefined ? [] : [not(any(excluded))])];
}

/** One branch for each next character that was seen, and one for whatever else there may be. */
function branches({ prefix, except }: Branch, found: readonly string[], giveUp: () => Error): Branch[] {
  const alike = new Map<string, string[]>();
  for (const name of found.map((each) => each.toLowerCase())) {
    const next = Array.from(name.slice(prefix.length))[0];
    // A wildcard would match everything again.
    if (next === undefined || next === '%' || next === '_') continue;
    const list = alike.get(prefix + next);
    if (list === undefined) alike.set(prefix + next, [name]);
    else list.push(name);
  }
  const seen = [...alike].map(([begin, list]) => (list.length < MANY ? begin : sharedBeginning(list)));
  const fresh = seen.filter((each) => !except.includes(each));
  if (fresh.length === 0) throw giveUp();
  return [...fresh.map((each) => ({ prefix: each, except: [] })), { prefix, except: [...except, ...fresh] }];
}

/** Up to a wildcard. */
function sharedBeginning(names: readonly string[]): string {
  const sorted = [...names].sort();
  const first = Array.from(sorted[0] ?? '');
  const last = Array.from(sorted.at(-1) ?? '');
  const differs = first.findIndex((character, index) => character !== last[index] || /[%_]/.test(character));
  return first.slice(0, differs === -1 ? undefined : differs).join('');
}

function namesOf(answer: Readonly<Record<string, unknown>>, range: TimeRange): readonly string[] {
  const { rows } = checkAnswer(answer, { range, facets: [], bucketed: false });
  const [row] = rows;
  const names = isObject(row) ? (row['names'] ?? row[UNNAMED]) : undefined;
  if (!isList(names) || names.length > MOST_NAMES) {
    throw new CallFailure('invalid_response', 'the answer has no list of names');
  }
  return names.map((name) => {
    if (typeof name === 'string' && name !== '') return name;
    throw new CallFailure('invalid_response', 'the list of names holds something else');
  });
}

function tooMany(): CallFailure {
  return new CallFailure('too_large', 'there are more metric names than can be listed');
}

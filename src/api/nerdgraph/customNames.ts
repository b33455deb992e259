import type { NeededPart, QueryKind } from './batching.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { createRowsRead } from './nextCall.ts';
import { alignRange, joinWithAnd, joinWithOr, whereIn, whereLike, writeNrql, readResponse, TIMESLICE } from './nrql.ts';
import { MetricSelector } from './metricSelector.ts';
import { ITSELF } from './rows.ts';
import { findIncompleteMessage, readMessages, describeIncomplete } from '../../nrql/incompleteResult.ts';
import type { Group } from '../../reads/reads.ts';
import { getOrAdd } from '../maps.ts';
import { CallFailure, explainTooLarge } from '../upstreamError.ts';
import { isList, isObject, LONGEST_TEXT, type Discarded, type Json } from '../http/validation.ts';
import {
  outcomeOf,
  type BatchRead,
  type CallOptions,
  type CustomNames,
  type CustomNamesSubject,
  type MetricNameList,
  type MetricNameQuery,
} from '../upstreamReader.ts';
import { DAY_S, MINUTE_MS } from '../../formulas/units.ts';

/** New Relic's limit for the names of one query. A response does not say that names are missing. */
const MAX_NAMES = 10_000;
/** A list that needs more queries is too long for a person. */
const MAX_QUERIES = 500;
/** From this many names with one next character, the next query uses their longest shared beginning. */
const MANY = 1_000;

interface Branch {
  readonly prefix: string;
  readonly except: readonly string[];
}

interface NamesRead {
  readonly group: Group;
  readonly where: string;
  readonly to: number;
  /** Subject and remedy in the message about too many names. */
  readonly about: string;
  readonly remedy: string;
}

/** Reads the metric names of the day before `to`, sorted. After a full response, queries by beginning read the rest. */
async function readUniqueNames(
  account: NerdGraphAccount,
  { group, where: condition, to, about, remedy }: NamesRead,
  call: CallOptions,
): Promise<readonly string[]> {
  const { transport } = account;
  const range = alignRange({ from: to - DAY_S, to });
  const names = new Set<string>();
  const open: Branch[] = [{ prefix: '', except: [] }];
  let queries = 0;
  for (let branch = open.pop(); branch !== undefined; branch = open.pop()) {
    const accountId = await account.resolveId(call);
    // Other metric data may have an application's id, too.
    const where = joinWithAnd([condition, `${TIMESLICE} IS NOT NULL`, writeCondition(branch)]);
    const query = writeNrql({ select: `uniques(metricTimesliceName, ${MAX_NAMES}) AS names`, where, range });
    const response = await transport.runWhole({ group, account: accountId, query }, call);
    const { found, isFull } =
      response === undefined
        ? { found: [], isFull: false }
        : await transport.parseReporting(group, (discarded) => readNames(response, discarded));
    queries += 1;
    for (const name of found) names.add(name);
    const words = isFull ? undefined : findIncompleteMessage(readMessages(response ?? {}), false);
    if (words !== undefined) {
      throw transport.failure(group, `${about}: the list of metric names: ${describeIncomplete(words)}`, 'too_large');
    }
    const more = isFull ? makeBranches(branch, found) : [];
    open.push(...more);
    const isTooLong = open.length > 0 && queries >= MAX_QUERIES;
    if (isTooLong || (isFull && more.length === 0)) {
      throw transport.failure(group, `${about}: too many metric names for one list: ${remedy}`, 'too_large');
    }
  }
  return [...names].sort();
}

function writeCondition({ prefix, except }: Branch): string {
  const begins = (text: string): string => whereLike('metricTimesliceName', `${text}%`);
  return joinWithAnd([
    prefix === '' ? '' : begins(prefix),
    except.length === 0 ? '' : `NOT (${except.map(begins).join(' OR ')})`,
  ]);
}

/** Makes a branch for each next character, and a last branch for all other names; none if only wildcards come next. */
function makeBranches({ prefix, except }: Branch, found: readonly string[]): Branch[] {
  const alike = new Map<string, string[]>();
  for (const name of found.map((each) => each.toLowerCase())) {
    const next = Array.from(name.slice(prefix.length))[0];
    // A wildcard would match all of the names again.
    if (next === undefined || next === '%' || next === '_') continue;
    getOrAdd(alike, prefix + next, () => []).push(name);
  }
  const beginnings = [...alike].map(([begin, list]) => (list.length < MANY ? begin : findSharedBeginning(list)));
  const fresh = beginnings.filter((each) => !except.includes(each));
  if (fresh.length === 0) return [];
  return [...fresh.map((each) => ({ prefix: each, except: [] })), { prefix, except: [...except, ...fresh] }];
}

function findSharedBeginning(names: readonly string[]): string {
  const sorted = [...names].sort();
  const first = Array.from(sorted[0] ?? '');
  const last = Array.from(sorted.at(-1) ?? '');
  const differs = first.findIndex((character, index) => character !== last[index] || /[%_]/.test(character));
  return first.slice(0, differs === -1 ? undefined : differs).join('');
}

function readNames(
  response: Json,
  discarded: Discarded,
): { readonly found: readonly string[]; readonly isFull: boolean } {
  const [row] = readResponse(response).rows;
  // The second key is that of a response that ignores `AS names`.
  const names = isObject(row) ? (row['names'] ?? row['uniques.metricTimesliceName']) : undefined;
  if (!isList(names)) throw new CallFailure('invalid_response', 'the response has no list of names');
  if (names.length > MAX_NAMES) throw new CallFailure('too_large', `the response has more than ${MAX_NAMES} names`);
  const found: string[] = [];
  for (const name of names) {
    if (typeof name !== 'string' || name === '') {
      throw new CallFailure('invalid_response', 'the list of names has a member that is not a name');
    }
    if (name.length <= LONGEST_TEXT) found.push(name);
    else discarded.addTooLong('record', 'names', { name }, [], LONGEST_TEXT);
  }
  return { found, isFull: names.length >= MAX_NAMES };
}

const KIND: QueryKind = { read: 'custom_names', groupBy: 'application', columns: 'names', seconds: DAY_S };

/** Reads the metric names that contain the filter texts, over the day before the end of the range. */
export function createCustomNamesRead(account: NerdGraphAccount): BatchRead<CustomNamesSubject, CustomNames> {
  // Applications with the same filters share one condition of the query.
  const selectors = new WeakMap<readonly string[], MetricSelector>();
  const makeParts = ({ applicationId, filters }: CustomNamesSubject): readonly NeededPart[] => {
    if (filters.length === 0) return [];
    const selector = getOrAdd(selectors, filters, () => new MetricSelector([], filters));
    return [{ id: applicationId, selector, kind: KIND }];
  };
  const inRows = createRowsRead(
    account,
    () => makeParts,
    (_, rows): CustomNames => ({ names: [...(rows?.rows.get(ITSELF)?.keys() ?? [])].sort() }),
  );
  return {
    ...inRows,
    async read(subjects, range, call) {
      const outcomes = Array.from(await inRows.read(subjects, range, call), async (outcome, index) => {
        const subject = subjects[index];
        const isTooLarge = 'error' in outcome && outcome.error.failure.reason === 'too_large';
        return subject && isTooLarge ? outcomeOf(readList(account, subject, range.to, call)) : outcome;
      });
      return Promise.all(outcomes);
    },
  };
}

/** Reads the names of one application as a list in one row: a row holds more names than a response holds rows. */
async function readList(
  account: NerdGraphAccount,
  { applicationId, filters }: CustomNamesSubject,
  to: number,
  call: CallOptions,
): Promise<CustomNames> {
  const patterns = filters.map((filter) => whereLike('metricTimesliceName', `%${filter}%`));
  const where = joinWithAnd([whereIn('appId', [applicationId]), 'scope IS NULL', joinWithOr(patterns)]);
  const about = `application ${applicationId}`;
  const remedy = 'a longer literal part in "match" (custom_metrics) narrows the list';
  const read = readUniqueNames(account, { group: 'custom_metrics', where, to, about, remedy }, call);
  const names = await explainTooLarge(`${about}: ${remedy}`, read);
  return { names: names.filter((name) => filters.some((filter) => name.includes(filter))) };
}

/** Lists the metric names that an application, or one of its hosts, reported within a day. Value names are unknown. */
export async function listMetricNames(
  account: NerdGraphAccount,
  query: MetricNameQuery,
  call: CallOptions,
): Promise<MetricNameList> {
  const { applicationId, hostKey, name, to = Math.floor(account.options.now() / MINUTE_MS) * 60 } = query;
  const where = joinWithAnd([
    whereIn('appId', [applicationId]),
    hostKey === undefined ? '' : whereIn('host', [hostKey]),
    name === undefined || name === '' ? '' : whereLike('metricTimesliceName', `%${name}%`),
  ]);
  const about = `application ${applicationId}`;
  const read = { group: 'metric_names', where, to, about, remedy: 'narrow them by a part of the name' } as const;
  const names = await readUniqueNames(account, read, call);
  const matching = names.filter((each) => each.toLowerCase().includes(name?.toLowerCase() ?? ''));
  return { names: matching.map((each) => ({ name: each, values: undefined })), complete: true };
}

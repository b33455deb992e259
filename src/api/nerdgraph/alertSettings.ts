import type * as z from 'zod';
import type { Document } from './documents.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import type { Transport } from './transport.ts';
import { compoundCondition, condition, named, type AlertSettings } from '../alerts.ts';
import { CallFailure } from '../http/callFailure.ts';
import { readPages } from '../http/paging.ts';
import { isList } from '../http/validation.ts';
import type { CallOptions } from '../upstreamReader.ts';

const GROUP = 'alerts';
/** Limit for conditions: each converted one needs a query every minute, and no budget allows more. */
const MAX_CONDITIONS = 10_000;
const MAX_PAGES = 1_000;

const CONDITION_FIELDS = `id policyId name description runbookUrl enabled type
          nrql { query dataAccountId }
          signal { aggregationWindow slideBy evaluationDelay fillOption fillValue }
          expiration { expirationDuration openViolationOnExpiration ignoreOnExpectedTermination }
          terms { __typename operator priority threshold thresholdDuration thresholdOccurrences }
          violationTimeLimitSeconds`;

const POLICIES = search('policiesSearch', 'policies', 'id name');
const CONDITIONS = search('nrqlConditionsSearch', 'nrqlConditions', CONDITION_FIELDS);
/** All conditions; those of older kinds are returned as NRQL conditions that mean the same. */
const OLDER_CONDITIONS = search('asNrqlConditionsSearch', 'nrqlConditions', CONDITION_FIELDS);
const COMPOUND_CONDITIONS = search('compoundConditions', 'items', 'id name policyId');

const MUTING_RULES: Document = {
  text: `query ($account: Int!) {
  actor { account(id: $account) { alerts { mutingRules { id name } } } }
}`,
  root: ['actor', 'account', 'alerts'],
  list: undefined,
};

/** A paged search of the account's alerts. */
interface Search {
  readonly document: Document;
  /** The member of a page that holds its records. */
  readonly member: string;
}

function search(field: string, member: string, fields: string): Search {
  const text = `query ($account: Int!, $cursor: String) {
  actor {
    account(id: $account) {
      alerts {
        ${field}(cursor: $cursor) {
          nextCursor
          totalCount
          ${member} {
          ${fields}
          }
        }
      }
    }
  }
}`;
  return { document: { text, root: ['actor', 'account', 'alerts', field], list: undefined }, member };
}

/**
 * Reads the alert policies, conditions and muting rules of the account, all pages, one condition for each id. Rejects with an
 * UpstreamError when a list is not whole, a record cannot be read, or there are more than 10,000 conditions.
 */
export async function readAlertSettings(account: NerdGraphAccount, call: CallOptions): Promise<AlertSettings> {
  const { transport } = account;
  const accountId = await account.id(call);
  const pages = <T extends { readonly id: string }>(what: Search, schema: z.ZodType<T>): Promise<T[]> =>
    readList(transport, what, schema, accountId, call);
  const policies = await pages(POLICIES, named);
  const conditions = await pages(CONDITIONS, condition);
  const older = await pages(OLDER_CONDITIONS, condition);
  const known = new Set(conditions.map((each) => each.id));
  const all = [...conditions, ...older.filter((each) => !known.has(each.id))];
  if (all.length > MAX_CONDITIONS) throw tooMany(transport, all.length);
  const compoundConditions = await pages(COMPOUND_CONDITIONS, compoundCondition);
  const { found } = await transport.read(GROUP, MUTING_RULES, { account: accountId }, call);
  const mutingRules = await transport.parseReporting(GROUP, () =>
    recordsOf(found['mutingRules'] ?? [], named, 'mutingRules'),
  );
  const ids = new Set(policies.map((policy) => policy.id));
  for (const { policyId } of [...all, ...compoundConditions]) {
    if (policyId === undefined || ids.has(policyId)) continue;
    // A policy that was created or deleted meanwhile: its conditions still need a policy.
    policies.push({ id: policyId, name: policyId });
    ids.add(policyId);
  }
  return { accountId, policies, conditions: all, compoundConditions, mutingRules };
}

async function readList<T extends { readonly id: string }>(
  transport: Transport,
  { document, member }: Search,
  schema: z.ZodType<T>,
  account: number,
  call: CallOptions,
): Promise<T[]> {
  const found = new Map<string, T>();
  const refuse = (words: string): Error => transport.invalid(GROUP, words);
  await transport.parseReporting(GROUP, () =>
    readPages('', { maxPages: MAX_PAGES }, refuse, async (cursor, page) => {
      const variables = { account, cursor: cursor === '' ? null : cursor };
      const { found: result } = await transport.read(GROUP, document, variables, call);
      const refused = (words: string): CallFailure => new CallFailure('invalid_response', `page ${page}: ${words}`);
      const total = result['totalCount'];
      if (typeof total !== 'number') throw refused('the answer has no "totalCount"');
      if (total > MAX_CONDITIONS) throw tooMany(transport, total);
      const before = found.size;
      const records = total === 0 ? (result[member] ?? []) : result[member];
      for (const record of recordsOf(records, schema, member)) found.set(record.id, record);
      const next = result['nextCursor'] ?? '';
      if (typeof next !== 'string') throw refused('its next page has no cursor');
      if (next === '' && found.size < total)
        throw refused(`${found.size} of "${member}", but New Relic counts ${total}`);
      return { fresh: found.size - before, next: next === '' ? undefined : next };
    }),
  );
  return [...found.values()];
}

/** All records must be valid, because a missing rule would be a missing alert. */
function recordsOf<T>(records: unknown, schema: z.ZodType<T>, member: string): T[] {
  if (!isList(records)) throw new CallFailure('invalid_response', `the answer has no list "${member}"`);
  return records.map((record) => {
    const { data, error } = schema.safeParse(record);
    if (data !== undefined) return data;
    const where = error?.issues[0]?.path.join('.') ?? '';
    throw new CallFailure('invalid_response', `a record of "${member}" cannot be read: ${where}`);
  });
}

function tooMany(transport: Transport, count: number): Error {
  const words = `${count} of a kind, and at most ${MAX_CONDITIONS} conditions can be converted`;
  return transport.reportFailure(GROUP, new CallFailure('other', words));
}

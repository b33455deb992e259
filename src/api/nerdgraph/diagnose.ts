import type { Account } from './account.ts';
import { namesOf } from './account.ts';
import type { Fleet } from './fleet.ts';
import { SIGN_OF_LIFE, WEB } from './metricNames.ts';
import { all, filled, isIn, TIMESLICE } from './nrql.ts';
import { checkAnswer } from './nrqlAnswer.ts';
import type { Transport } from './transport.ts';
import type { CallOptions, Diagnosis, TimeRange } from '../reader.ts';

/** So many applications are tried: a small query is enough to see whether there are rows at all. */
const MOST_TRIED = 50;

/**
 * Tries what the lists do not show, after they were read: whether the key sees the account, and whether NRQL answers any
 * timeslice of the applications that report. Rejects with an UpstreamError when one of the two calls fails.
 */
export async function diagnose(
  transport: Transport,
  account: Account,
  fleet: Fleet,
  range: TimeRange,
  call: CallOptions,
): Promise<Diagnosis> {
  const warnings: string[] = [];
  const accounts = await account.list(call);
  const id = await account.id(call);
  const facts = [`the key sees ${accounts.length === 0 ? 'no account' : namesOf(accounts)}; account ${id} is read`];
  if (!accounts.some((each) => each.id === id)) {
    warnings.push(`account_id: the key does not list account ${id}: correct it, or give the key's user access to it`);
  }
  const tried = filled(fleet.reporting.slice(0, MOST_TRIED));
  if (tried === undefined) return { facts, warnings };
  const where = all([isIn('appId', tried), isIn('metricTimesliceName', [SIGN_OF_LIFE, WEB])]);
  const facet = ['appId'] as const;
  const select = [{ of: 'count', from: TIMESLICE, as: 'c' }] as const;
  const query = { select, where, facet, range };
  const answer = await transport.whole({ group: 'applications', account: id, query, forSeveral: false }, call);
  const { rows } = transport.checked('applications', () =>
    checkAnswer(answer, { range, facets: facet, bucketed: false }),
  );
  // What a key may not read may be hidden without an error, and not every region has timeslices in NRQL.
  if (rows.length === 0) {
    warnings.push(
      `NRQL has no timeslice of ${tried.length} reporting application${tried.length === 1 ? '' : 's'} in account ${id}: ` +
        'the user of the key may lack the role to query data there, or the region may not offer timeslices over NRQL',
    );
  }
  return { facts, warnings };
}

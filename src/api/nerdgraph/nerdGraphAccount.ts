import * as z from 'zod';
import type { AccountMemory } from './accountMemory.ts';
import { joinWithAnd, whereIn, writeNrql, readResponse, TIMESLICE } from './nrql.ts';
import { ACCOUNTS, ACCOUNTS_IN_REGION, USER } from './documents.ts';
import type { NerdGraphReaderOptions, Transport } from './transport.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import { id, isList, parseList } from '../http/validation.ts';
import type { AccountListing, CallOptions, Diagnosis, ListedAccount, TimeRange } from '../upstreamReader.ts';

/** Reads the id of the user who owns the key. */
export async function readUser(transport: Transport, call: CallOptions): Promise<number> {
  const { found } = await transport.read('applications', USER, {}, call);
  const user = id.safeParse(found['id']).data;
  if (user === undefined) throw transport.failure('applications', 'the response has no user');
  return user;
}

const outline = z.object({ id, name: z.string().nullish() });

/** Reads the accounts that the key sees, for `accounts` in its region only. Rejects if no account can be read. */
export async function listAccounts(
  transport: Transport,
  group: 'accounts' | 'applications',
  call: CallOptions,
): Promise<AccountListing> {
  const document = group === 'accounts' ? ACCOUNTS_IN_REGION : ACCOUNTS;
  const { found } = await transport.read(group, document, {}, call);
  return transport.parseReporting(group, async (discarded) => {
    const read = await parseList(outline, found, 'accounts', discarded);
    const accounts = [...new Map(read.map((each) => [each.id, { id: each.id, name: each.name ?? '' }])).values()];
    const members = isList(found['accounts']) ? found['accounts'].length : 0;
    const leftOut = discarded.summary();
    const problem = leftOut === '' ? undefined : `the list of accounts cannot be read whole: ${leftOut}`;
    return { accounts, unreadable: members - read.length, problem };
  });
}

/** Holds what all reads of an account share: its number, the transport and the memory. */
export class NerdGraphAccount {
  readonly transport: Transport;
  readonly memory: AccountMemory;
  readonly options: NerdGraphReaderOptions;
  #pending: Promise<number> | undefined;
  /** The last look-up for an empty application list. `words` say why the key cannot read the account. */
  #lookedUp: { readonly lookedUpAt: number; readonly words: string | undefined } | undefined;

  constructor(transport: Transport, memory: AccountMemory, options: NerdGraphReaderOptions) {
    this.transport = transport;
    this.memory = memory;
    this.options = options;
  }

  /** Returns the configured account number, or the only account that the key sees, looked up once for each key. */
  async resolveId(call: CallOptions): Promise<number> {
    const { accountId } = this.options;
    if (accountId !== undefined) return accountId;
    const key = this.#currentKey();
    const found = this.memory.onlyAccount;
    if (found !== undefined && found.key === (key ?? found.key)) return found.id;
    return (this.#pending ??= this.#findOnlyAccount(key, call));
  }

  /** Looks up why a list is empty, once in `detailsMs`. Rejects if the key does not list the account. */
  async checkEmpty(isEmpty: boolean, call: CallOptions): Promise<void> {
    const { accountId: configured, isListed, monotonic, detailsMs } = this.options;
    // In an organisation, many accounts never have an application.
    const isUsual = isListed === true && !this.memory.hasListed;
    if (!isEmpty || isUsual || configured === undefined) {
      this.#lookedUp = undefined;
      return;
    }
    const now = monotonic();
    if (this.#lookedUp === undefined || now - this.#lookedUp.lookedUpAt >= detailsMs) {
      const { accounts, unreadable } = await listAccounts(this.transport, 'applications', call);
      // An unreadable account may be the configured account.
      const isFound = unreadable > 0 || accounts.some(({ id: each }) => each === configured);
      const listed = accounts.length === 0 ? 'it lists no account' : `it lists ${formatAccounts(accounts)}`;
      const words =
        `the key does not list account ${configured} (account_id), ${listed}: ` +
        `correct account_id, or give the key's user access to it`;
      this.#lookedUp = { lookedUpAt: now, words: isFound ? undefined : words };
    }
    const { words } = this.#lookedUp;
    if (words !== undefined) throw this.transport.failure('applications', words, 'forbidden');
  }

  async #findOnlyAccount(key: string | undefined, call: CallOptions): Promise<number> {
    try {
      const { accounts, unreadable } = await listAccounts(this.transport, 'applications', call);
      const [first] = accounts;
      const seen = accounts.length + unreadable;
      if (first !== undefined && seen === 1) {
        this.memory.onlyAccount = { id: first.id, key };
        return first.id;
      }
      const words =
        first === undefined
          ? 'the key sees no account: give its user a role in the account'
          : `the key sees ${seen} accounts, set account_id to one of them, or write "api: rest": ` +
            formatAccounts(accounts);
      throw this.transport.failure('applications', words, 'other');
    } finally {
      this.#pending = undefined;
    }
  }

  /** Returns the current key; undefined if it cannot be read. The calls then fail with the reason. */
  #currentKey(): string | undefined {
    try {
      return this.options.key();
    } catch {
      return undefined;
    }
  }
}

const MAX_SHOWN = 20;

function formatAccounts(accounts: readonly ListedAccount[]): string {
  const shown = accounts.slice(0, MAX_SHOWN).map(({ id: number, name }) => {
    const plain = name.slice(0, 60).replace(/\p{C}/gu, ' ').trim();
    return plain === '' ? String(number) : `${number} (${plain})`;
  });
  return shown.join(', ') + (accounts.length > MAX_SHOWN ? ` and ${accounts.length - MAX_SHOWN} more` : '');
}

/** Limit for the applications to check. A small query shows whether any rows exist. */
const MAX_CHECKED = 50;

/** Checks what no list shows: that the key sees the account, and that NRQL has timeslices of reporting applications. */
export async function diagnose(account: NerdGraphAccount, range: TimeRange, call: CallOptions): Promise<Diagnosis> {
  const { transport, memory } = account;
  const warnings: string[] = [];
  const facts: string[] = [];
  const id = await account.resolveId(call);
  if (account.options.isListed !== true) {
    const { accounts, unreadable } = await listAccounts(transport, 'applications', call);
    facts.push(
      `the key sees ${accounts.length === 0 ? 'no account' : formatAccounts(accounts)}; account ${id} is read`,
    );
    if (unreadable === 0 && !accounts.some((each) => each.id === id)) {
      warnings.push(`account_id: the key does not list account ${id}: correct it, or give the key's user access to it`);
    }
  }
  const checked = memory.reporting.slice(0, MAX_CHECKED);
  if (checked.length === 0) return { facts, warnings };
  const where = joinWithAnd([whereIn('appId', checked), whereIn('metricTimesliceName', [SIGN_OF_LIFE, METRIC.web])]);
  const query = writeNrql({ select: `count(${TIMESLICE}) AS c`, where, facet: ['appId'], range });
  const result = await transport.runWhole({ group: 'applications', account: id, query }, call);
  const rows = await transport.parseReporting('applications', () =>
    result === undefined ? [] : readResponse(result).rows,
  );
  // New Relic may hide data from a key without an error, and not every region has timeslices in NRQL.
  if (rows.length === 0) {
    warnings.push(
      `NRQL has no timeslice of ${checked.length} reporting application${checked.length === 1 ? '' : 's'} in account ${id}: ` +
        'the user of the key may lack the role to query data there, or the region may not offer timeslices over NRQL',
    );
  }
  return { facts, warnings };
}

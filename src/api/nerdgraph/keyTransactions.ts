import type { Account } from './account.ts';
import * as documents from './documents.ts';
import { searchEntities } from './entitySearch.ts';
import { keyTransaction, keyTransactionDetails } from './schemas/keyTransaction.ts';
import type { KeyTransactionDetails, ListedKeyTransaction } from './schemas/keyTransaction.ts';
import { NO_SUMMARY } from './summaries.ts';
import type { Transport } from './transport.ts';
import { isList } from '../http/shapes.ts';
import { UpstreamError } from '../errors.ts';
import type { CallOptions } from '../reader.ts';
import { parseRecord } from '../records/lenient.ts';
import type { KeyTransaction } from '../types.ts';

const GROUP = 'key_transactions';
/** The service gives so many entities a call. */
const GUIDS_PER_CALL = 25;

/** What the rolling values of a key transaction are read by. */
export interface KnownKeyTransaction {
  readonly guid: string;
  readonly applicationId: number | undefined;
  readonly transactionName: string | undefined;
}

/** Details without an application or a name are asked for again so soon: it may be a field that failed. */
const PARTIAL_MS = 5 * 60_000;

const NO_DETAILS = { apdexTarget: undefined, transactionName: undefined, applicationId: undefined };

interface Held {
  readonly details: KeyTransactionDetails;
  readonly readAt: number;
  readonly isWhole: boolean;
}

export interface KeyTransactionsOptions {
  readonly mostPages: number;
  /** How long the details of an entity are kept, milliseconds. */
  readonly detailsMs: number;
  /** Milliseconds of a clock that is never set. */
  readonly monotonic: () => number;
}

/** Reads key transactions, and keeps what only their full entities say. */
export class KeyTransactions {
  readonly #transport: Transport;
  readonly #account: Account;
  readonly #options: KeyTransactionsOptions;
  #details = new Map<string, Held>();
  #known: ReadonlyMap<number, KnownKeyTransaction> = new Map();
  #unread: ReadonlyMap<number, UpstreamError> = new Map();

  constructor(transport: Transport, account: Account, options: KeyTransactionsOptions) {
    this.#transport = transport;
    this.#account = account;
    this.#options = options;
  }

  inherit(before: KeyTransactions): void {
    this.#details = before.#details;
    this.#known = before.#known;
    this.#unread = before.#unread;
  }

  /** By id, those of the last list. */
  known(id: number): KnownKeyTransaction | undefined {
    return this.#known.get(id);
  }

  /** Why the details of one of the last list were never read: without its application its series cannot be labelled. */
  unread(id: number): UpstreamError | undefined {
    return this.#unread.get(id);
  }

  /** All whose details are known, or could not be read; rejects when none could. */
  async list(call: CallOptions): Promise<KeyTransaction[]> {
    const accountId = await this.#account.id(call);
    const search = {
      group: GROUP,
      document: documents.KEY_TRANSACTIONS,
      query: `domain = 'EXT' AND type = 'KEY_TRANSACTION' AND accountId = ${accountId}`,
      accountId,
      schema: keyTransaction,
      mostPages: this.#options.mostPages,
    } as const;
    const listed = await searchEntities(this.#transport, search, call);
    const failures = await this.#refreshDetails(listed, call);
    const found = new Map<number, KeyTransaction>();
    const known = new Map<number, KnownKeyTransaction>();
    const unread = new Map<number, UpstreamError>();
    for (const each of listed) {
      if (found.has(each.id)) continue;
      const details = this.#details.get(each.guid)?.details;
      const failure = failures.get(each.guid);
      if (details !== undefined) {
        found.set(each.id, toKeyTransaction(each, details));
        known.set(each.id, { ...details, guid: each.guid });
      } else if (failure !== undefined) {
        found.set(each.id, { ...toKeyTransaction(each, NO_DETAILS), unread: failure });
        unread.set(each.id, failure);
      }
    }
    for (const failure of unread.values()) {
      if (known.size === 0 || failure.failure.reason === 'auth') throw failure;
    }
    if (listed.length > 0 && found.size === 0) {
      throw this.#transport.invalid(GROUP, `none of the ${listed.length} key transactions has details`);
    }
    this.#known = known;
    this.#unread = unread;
    return [...found.values()];
  }

  /** Gives failures by guid. Details that were read before stay in use when they cannot be read again. */
  async #refreshDetails(
    listed: readonly ListedKeyTransaction[],
    call: CallOptions,
  ): Promise<ReadonlyMap<string, UpstreamError>> {
    const guids = new Set(listed.map(({ guid }) => guid));
    this.#details = new Map([...this.#details].filter(([guid]) => guids.has(guid)));
    const now = this.#options.monotonic();
    const due = [...guids].filter((guid) => {
      const held = this.#details.get(guid);
      return held === undefined || now - held.readAt >= this.#keptMs(held);
    });
    const chunks = Array.from({ length: Math.ceil(due.length / GUIDS_PER_CALL) }, (_, index) =>
      due.slice(index * GUIDS_PER_CALL, (index + 1) * GUIDS_PER_CALL),
    );
    const failures = new Map<string, UpstreamError>();
    await Promise.all(
      chunks.map(async (chunk) => {
        const failure = await this.#readDetails(chunk, now, call);
        if (failure !== undefined) for (const guid of chunk) failures.set(guid, failure);
      }),
    );
    return failures;
  }

  #keptMs({ isWhole }: Held): number {
    const { detailsMs } = this.#options;
    return isWhole ? detailsMs : Math.min(PARTIAL_MS, detailsMs);
  }

  /** What a field does not say this time, because it failed, stays as it was read before. */
  #keep(details: KeyTransactionDetails, guid: string, readAt: number): void {
    const before = this.#details.get(guid)?.details;
    const { applicationId, transactionName, apdexTarget } = details;
    this.#details.set(guid, {
      details: {
        guid,
        applicationId: applicationId ?? before?.applicationId,
        transactionName: transactionName ?? before?.transactionName,
        apdexTarget: apdexTarget ?? before?.apdexTarget,
      },
      readAt,
      isWhole: applicationId !== undefined && transactionName !== undefined,
    });
  }

  async #readDetails(guids: readonly string[], now: number, call: CallOptions): Promise<UpstreamError | undefined> {
    try {
      const read = {
        group: GROUP,
        document: documents.KEY_TRANSACTION_DETAILS,
        variables: { guids },
        root: ['actor'],
        needed: ['entities'],
      } as const;
      const actor = await this.#transport.read(read, call);
      const entities = actor['entities'];
      if (!isList(entities)) throw this.#transport.invalid(GROUP, 'the answer has no list "entities"');
      const asked = new Map(guids.map((guid) => [withoutPadding(guid), guid]));
      this.#transport.checked(GROUP, (leftOut) => {
        for (const entity of entities.slice(0, GUIDS_PER_CALL)) {
          const details = parseRecord(keyTransactionDetails, entity, leftOut, 'entities');
          const guid = details === undefined ? undefined : asked.get(withoutPadding(details.guid));
          if (details !== undefined && guid !== undefined) this.#keep(details, guid, now);
        }
        for (let missing = entities.length; missing < guids.length; missing += 1) leftOut.record('entities');
      });
      return undefined;
    } catch (error) {
      if (error instanceof UpstreamError) return error;
      throw error;
    }
  }
}

/** Guids are base64, with its padding or without. */
export function withoutPadding(guid: string): string {
  return guid.replace(/=+$/, '');
}

function toKeyTransaction(listed: ListedKeyTransaction, details: Omit<KeyTransactionDetails, 'guid'>): KeyTransaction {
  return {
    id: listed.id,
    name: listed.name,
    transactionName: details.transactionName,
    healthStatus: listed.healthStatus,
    reporting: listed.reporting,
    lastReportedAt: undefined,
    summary: { ...NO_SUMMARY, apdexTarget: details.apdexTarget },
    endUserSummary: undefined,
    applicationId: details.applicationId,
  };
}

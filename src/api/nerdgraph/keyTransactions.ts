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

/** Details without an application are asked for again so soon: it may be a field that failed. */
const UNOWNED_MS = 5 * 60_000;

interface Held {
  readonly details: KeyTransactionDetails;
  readonly readAt: number;
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

  constructor(transport: Transport, account: Account, options: KeyTransactionsOptions) {
    this.#transport = transport;
    this.#account = account;
    this.#options = options;
  }

  /** By id, those of the last list. */
  known(id: number): KnownKeyTransaction | undefined {
    return this.#known.get(id);
  }

  /** All whose details are known: without the owning application none of its series could be labelled. */
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
    const failure = await this.#refreshDetails(listed, call);
    const found = new Map<number, KeyTransaction>();
    const known = new Map<number, KnownKeyTransaction>();
    for (const each of listed) {
      const details = this.#details.get(each.guid)?.details;
      if (details === undefined || found.has(each.id)) continue;
      found.set(each.id, toKeyTransaction(each, details));
      known.set(each.id, { ...details, guid: each.guid });
    }
    if (failure !== undefined && found.size === 0) throw failure;
    this.#known = known;
    return [...found.values()];
  }

  /** Gives the first failure. Details that were read before stay in use when they cannot be read again. */
  async #refreshDetails(
    listed: readonly ListedKeyTransaction[],
    call: CallOptions,
  ): Promise<UpstreamError | undefined> {
    const guids = new Set(listed.map(({ guid }) => guid));
    this.#details = new Map([...this.#details].filter(([guid]) => guids.has(guid)));
    const now = this.#options.monotonic();
    const due = [...guids].filter((guid) => {
      const held = this.#details.get(guid);
      return held === undefined || now - held.readAt >= this.#keptMs(held.details);
    });
    const chunks = Array.from({ length: Math.ceil(due.length / GUIDS_PER_CALL) }, (_, index) =>
      due.slice(index * GUIDS_PER_CALL, (index + 1) * GUIDS_PER_CALL),
    );
    const failures = await Promise.all(chunks.map((chunk) => this.#readDetails(chunk, now, call)));
    return failures.find((failure) => failure !== undefined);
  }

  #keptMs({ applicationId }: KeyTransactionDetails): number {
    const { detailsMs } = this.#options;
    return applicationId === undefined ? Math.min(UNOWNED_MS, detailsMs) : detailsMs;
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
          if (details !== undefined && guid !== undefined) this.#details.set(guid, { details, readAt: now });
        }
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

function toKeyTransaction(listed: ListedKeyTransaction, details: KeyTransactionDetails): KeyTransaction {
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

import * as z from 'zod';
import { entity, healthStatus, searchEntities } from './entitySearch.ts';
import { amount, text, parseRecord } from '../http/readRecords.ts';
import type { Account } from './keyAccount.ts';
import { withoutPadding } from './rows.ts';
import { NO_SUMMARY } from './rowValues.ts';
import { KEY_TRANSACTION_DETAILS, KEY_TRANSACTIONS, type Transport } from './transport.ts';
import type { CallFailure } from '../http/callFailure.ts';
import { isList } from '../http/jsonShape.ts';
import { UpstreamError, type KeyTransaction } from '../types.ts';
import type { CallOptions } from '../reader.ts';

/** The tag that holds the id which the REST interface gives a key transaction. */
const ID_TAG = 'keyTransactionId';

/** A key transaction of the entity search. */
const keyTransaction = entity.transform((fields, context) => {
  const written = fields.tags?.find(({ key }) => key === ID_TAG)?.values[0] ?? '';
  const id = idIn(written);
  if (id === undefined) {
    context.issues.push({ code: 'custom', message: `no tag ${ID_TAG}`, input: fields.tags, path: ['tags'] });
    return z.NEVER;
  }
  const { guid, name, reporting } = fields;
  return { id, guid, name, reporting, healthStatus: healthStatus(reporting, fields.alertSeverity) };
});

/** What only the full entity says. */
const keyTransactionDetails = z
  .object({
    guid: text,
    apdexTarget: amount.nullish(),
    metricName: z.string().nullish(),
    application: z.object({ guid: z.string().nullish() }).nullish(),
  })
  .transform((fields) => ({
    guid: fields.guid,
    apdexTarget: fields.apdexTarget ?? undefined,
    transactionName: fields.metricName ?? undefined,
    applicationId: applicationIdOf(fields.application?.guid ?? undefined),
  }));

type KeyTransactionDetails = z.infer<typeof keyTransactionDetails>;

/** The id in an application's guid: base64, its padding may be missing, of `account|APM|APPLICATION|id`. */
export function applicationIdOf(guid: string | undefined): number | undefined {
  if (guid === undefined) return undefined;
  return idIn(Buffer.from(guid, 'base64').toString('utf8').split('|').at(-1) ?? '');
}

function idIn(text: string): number | undefined {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}

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

interface Held {
  readonly details: KeyTransactionDetails;
  readonly readAt: number;
  readonly isWhole: boolean;
}

interface KeyTransactionsOptions {
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
    const search = {
      group: GROUP,
      document: KEY_TRANSACTIONS,
      what: "domain = 'EXT' AND type = 'KEY_TRANSACTION'",
      schema: keyTransaction,
      mostPages: this.#options.mostPages,
    } as const;
    const listed = await searchEntities(this.#transport, this.#account, search, call);
    const failures = await this.#refreshDetails(new Set(listed.map(({ guid }) => guid)), call);
    const found = new Map<number, KeyTransaction>();
    const known = new Map<number, KnownKeyTransaction>();
    const unread = new Map<number, UpstreamError>();
    for (const { guid, ...each } of listed) {
      const details = this.#details.get(guid)?.details;
      const failure = details === undefined ? failures.get(guid) : undefined;
      if (found.has(each.id) || (details === undefined && failure === undefined)) continue;
      if (details !== undefined) known.set(each.id, details);
      if (failure !== undefined) unread.set(each.id, failure);
      found.set(each.id, {
        ...each,
        transactionName: details?.transactionName,
        applicationId: details?.applicationId,
        lastReportedAt: undefined,
        summary: { ...NO_SUMMARY, apdexTarget: details?.apdexTarget },
        endUserSummary: undefined,
        ...(failure === undefined ? {} : { unread: failure }),
      });
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
  async #refreshDetails(guids: ReadonlySet<string>, call: CallOptions): Promise<ReadonlyMap<string, UpstreamError>> {
    const { detailsMs, monotonic } = this.#options;
    const now = monotonic();
    for (const guid of this.#details.keys()) if (!guids.has(guid)) this.#details.delete(guid);
    const due = [...guids].filter((guid) => {
      const held = this.#details.get(guid);
      return held === undefined || now - held.readAt >= (held.isWhole ? detailsMs : Math.min(PARTIAL_MS, detailsMs));
    });
    const failures = new Map<string, UpstreamError>();
    const calls = Array.from({ length: Math.ceil(due.length / GUIDS_PER_CALL) }, async (_, index) => {
      const chunk = due.slice(index * GUIDS_PER_CALL, (index + 1) * GUIDS_PER_CALL);
      const isMissing = (guid: string): boolean => this.#details.get(guid)?.readAt !== now;
      try {
        const failure = await this.#readDetails(chunk, now, call);
        // A field that may not be null makes its whole entity null when it fails: such an entity failed, it is not gone.
        if (failure !== undefined && chunk.some(isMissing)) throw this.#transport.fail(GROUP, failure);
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        for (const guid of chunk.filter(isMissing)) failures.set(guid, error);
      }
    });
    await Promise.all(calls);
    return failures;
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

  /** Gives why fields that are null failed, if any did. */
  async #readDetails(guids: readonly string[], now: number, call: CallOptions): Promise<CallFailure | undefined> {
    const { found, failure } = await this.#transport.read(GROUP, KEY_TRANSACTION_DETAILS, { guids }, call);
    const entities = found['entities'];
    if (!isList(entities)) throw this.#transport.invalid(GROUP, 'the answer has no list "entities"');
    const asked = new Map(guids.map((guid) => [withoutPadding(guid), guid]));
    await this.#transport.checked(GROUP, (leftOut) => {
      for (const entity of entities.slice(0, GUIDS_PER_CALL)) {
        // It failed, and counts once.
        if (entity === null && failure !== undefined) continue;
        const details = parseRecord(keyTransactionDetails, entity, leftOut, 'entities');
        const guid = details === undefined ? undefined : asked.get(withoutPadding(details.guid));
        if (details !== undefined && guid !== undefined) this.#keep(details, guid, now);
      }
      if (failure !== undefined) return;
      for (let missing = entities.length; missing < guids.length; missing += 1) leftOut.record('entities');
    });
    return failure;
  }
}

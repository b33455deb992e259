import { countCalls } from '../batches.ts';
import { MOST_ROWS, partsOf, planQueries, type Asked, type Fleet } from './batching.ts';
import { RollingMachinesRead, type RollingMachine } from './dataReads.ts';
import { MOST_GUIDS, type KeyTransactionRowsRead } from './keyTransactionRows.ts';
import type { KeyTransactions, KnownKeyTransaction } from './keyTransactions.ts';
import { ITSELF } from './rows.ts';
import { keyTransactionOf } from './rowValues.ts';
import type { Timeslices } from './timeslices.ts';
import type { Transport } from './transport.ts';
import { NON_WEB, SIGN_OF_LIFE, WEB, type WantedMetrics } from './wanted.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { BatchRead, CallOptions, NextCall, Outcome, RollingSubject, TimeRange } from '../reader.ts';
import type { RollingValues } from '../types.ts';

/** Seconds before the end of the range that the rolling values of key transactions are taken over. */
const SECONDS = 600;

const OWNERS = {
  kind: 'owners of key transactions',
  group: 'key_transactions',
  byHost: false,
  mostRows: MOST_ROWS,
} as const;

type OfKeyTransaction = Extract<RollingSubject, { kind: 'key_transaction' }>;

/**
 * Reads rolling values: of applications and hosts from their timeslices, of key transactions from what their own entities
 * measured. The service's own figures have a window and a scale that no public page tells.
 */
export class RollingRead implements BatchRead<RollingSubject, RollingValues> {
  readonly #transport: Transport;
  readonly #timeslices: Timeslices;
  readonly #fleet: Fleet;
  readonly #wanted: WantedMetrics;
  readonly #machines: RollingMachinesRead;
  readonly #keyTransactions: KeyTransactions;
  readonly #rows: KeyTransactionRowsRead;

  constructor(parts: {
    readonly transport: Transport;
    readonly timeslices: Timeslices;
    readonly fleet: Fleet;
    readonly wanted: WantedMetrics;
    readonly keyTransactions: KeyTransactions;
    readonly rows: KeyTransactionRowsRead;
  }) {
    this.#transport = parts.transport;
    this.#timeslices = parts.timeslices;
    this.#fleet = parts.fleet;
    this.#wanted = parts.wanted;
    this.#machines = new RollingMachinesRead(parts.timeslices, parts.fleet, parts.wanted);
    this.#keyTransactions = parts.keyTransactions;
    this.#rows = parts.rows;
  }

  /** Key transactions need a query of their own, and one more for their owners. */
  nextCall(subjects: readonly RollingSubject[]): NextCall {
    const isFirst = isLike(subjects[0]);
    const other = subjects.findIndex((subject) => !isFirst(subject));
    const alike = other === -1 ? subjects : subjects.slice(0, other);
    const keyTransactions = alike.filter(isKeyTransaction).slice(0, MOST_GUIDS);
    if (keyTransactions.length === 0) return this.#machines.nextCall(alike.filter(isMachine));
    const owners = planQueries(partsOf(this.#ownersOf(keyTransactions)), this.#fleet, OWNERS);
    return { count: keyTransactions.length, calls: 1 + owners.length };
  }

  callsFor(subjects: readonly RollingSubject[], range: TimeRange): number {
    return countCalls(this, subjects, range);
  }

  async read(
    subjects: readonly RollingSubject[],
    range: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<RollingValues>[]> {
    const [machines, keyTransactions] = await Promise.all([
      this.#machines.read(subjects.filter(isMachine), range, call),
      this.#readKeyTransactions(subjects.filter(isKeyTransaction), range.to, call),
    ]);
    const [ofMachines, ofKeyTransactions] = [machines.values(), keyTransactions.values()];
    return subjects.map((subject) => {
      const { value } = (isKeyTransaction(subject) ? ofKeyTransactions : ofMachines).next();
      if (value === undefined) throw new Error('a subject without an outcome');
      return value;
    });
  }

  async #readKeyTransactions(
    subjects: readonly OfKeyTransaction[],
    to: number,
    call: CallOptions,
  ): Promise<readonly Outcome<RollingValues>[]> {
    const range = { from: to - SECONDS, to };
    const asked = subjects.flatMap(({ keyTransactionId: id }) => {
      const known = this.#keyTransactions.known(id);
      return known === undefined ? [] : [{ id, guid: known.guid }];
    });
    const query = { ...OWNERS, range, columns: 'values' } as const;
    const [{ rows, failures }, owners] = await Promise.all([
      this.#rows.read(asked, range, call),
      this.#timeslices.read(partsOf(this.#ownersOf(subjects)), query, call),
    ]);
    return subjects.map(({ keyTransactionId: id }) => {
      const known = this.#keyTransactions.known(id);
      if (known === undefined) return { error: this.#keyTransactions.unread(id) ?? this.#unknown(id) };
      const owner = known.applicationId === undefined ? undefined : owners.get(known.applicationId);
      const ofOwner = owner?.failureOf(ITSELF);
      // An application that the key cannot see says nothing; what the key transaction itself measured was read.
      const isUnseen = ofOwner?.failure.reason === 'forbidden' && !this.#isListed(known);
      const error = failures.get(id) ?? (isUnseen ? undefined : ofOwner);
      if (error !== undefined) return { error };
      const ofOwners = owner?.rows.get(ITSELF);
      const apdex = apdexName(known);
      const verdicts = apdex === undefined ? undefined : ofOwners?.get(apdex);
      const row = rows.get(id);
      return { value: keyTransactionOf(row, verdicts, ofOwners !== undefined, row?.seconds ?? SECONDS) };
    });
  }

  #isListed({ applicationId }: KnownKeyTransaction): boolean {
    return applicationId !== undefined && this.#fleet.isListed(applicationId);
  }

  #unknown(id: number): ReturnType<Transport['fail']> {
    const words = `key transaction ${id} is not on the list`;
    return this.#transport.fail('key_transactions', new CallFailure('not_found', words));
  }

  /** What is read of the owning applications: whether they report, and the Apdex of the transactions. */
  #ownersOf(subjects: readonly OfKeyTransaction[]): Asked[] {
    const names = new Map<number, string[]>();
    for (const { keyTransactionId } of subjects) {
      const known = this.#keyTransactions.known(keyTransactionId);
      if (known?.applicationId === undefined) continue;
      const apdex = apdexName(known);
      const list = names.get(known.applicationId) ?? [SIGN_OF_LIFE, WEB, NON_WEB];
      names.set(known.applicationId, apdex === undefined ? list : [...list, apdex]);
    }
    return [...names].map(([applicationId, list]) => ({
      applicationId,
      host: undefined,
      wanted: this.#wanted.of(list),
    }));
  }
}

const WEB_TRANSACTION = 'WebTransaction/';

/** The owning application's Apdex metric of the transaction. That it has this name is our inference. */
function apdexName({ transactionName }: KnownKeyTransaction): string | undefined {
  if (transactionName === undefined || transactionName === '') return undefined;
  const name = transactionName.startsWith(WEB_TRANSACTION)
    ? transactionName.slice(WEB_TRANSACTION.length)
    : transactionName;
  return `Apdex/${name}`;
}

function isLike(first: RollingSubject | undefined): (subject: RollingSubject) => boolean {
  return first !== undefined && isKeyTransaction(first) ? isKeyTransaction : isMachine;
}

function isMachine(subject: RollingSubject): subject is RollingMachine {
  return subject.kind !== 'key_transaction';
}

function isKeyTransaction(subject: RollingSubject): subject is OfKeyTransaction {
  return subject.kind === 'key_transaction';
}

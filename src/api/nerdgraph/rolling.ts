import { partsOf, planQueries, type Asked } from './batching.ts';
import { RowsRead, type Found, type FoundParts, type Kind } from './dataReads.ts';
import type { KeyTransactions, KnownKeyTransaction } from './keyTransactions.ts';
import { ITSELF, type SubjectRows } from './rows.ts';
import { keyTransactionOf, rollingOf } from './rowValues.ts';
import type { Timeslices } from './timeslices.ts';
import {
  APDEX,
  END_USER,
  END_USER_APDEX,
  ERRORS,
  NON_WEB,
  SIGN_OF_LIFE,
  WEB,
  type Wanted,
  type WantedMetrics,
} from './wanted.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { CallOptions, NextCall, Outcome, RollingSubject, TimeRange } from '../reader.ts';
import type { RollingValues } from '../types.ts';

/** Seconds before the end of the range that the rolling values of key transactions are taken over, and all others. */
const KEY_TRANSACTION_SECONDS = 600;
const SECONDS = 240;

const KINDS = {
  application: { name: 'rolling applications', group: 'applications', by: 'application', seconds: SECONDS },
  host: { name: 'rolling hosts', group: 'hosts', by: 'host', seconds: SECONDS },
  key_transaction: {
    ...{ name: 'key transactions', group: 'key_transactions', by: 'key_transaction' },
    seconds: KEY_TRANSACTION_SECONDS,
  },
} as const satisfies Record<RollingSubject['kind'], Kind>;
const OWNERS = { name: 'owners of key transactions', group: 'key_transactions', by: 'application' } as const;

type OfKeyTransaction = Extract<RollingSubject, { kind: 'key_transaction' }>;

/**
 * Reads rolling values: of applications and hosts from their timeslices, of key transactions from what their own entities
 * measured and from the timeslices of their applications. The service's own figures have a window and a scale that no public
 * page tells.
 */
export class RollingRead extends RowsRead<RollingSubject, RollingValues> {
  readonly #metrics: WantedMetrics;
  readonly #keyTransactions: KeyTransactions;
  readonly #wanted: Readonly<Record<RollingSubject['kind'], Wanted>>;

  constructor(timeslices: Timeslices, metrics: WantedMetrics, keyTransactions: KeyTransactions) {
    super(timeslices);
    this.#metrics = metrics;
    this.#keyTransactions = keyTransactions;
    const ofHosts = [SIGN_OF_LIFE, WEB, NON_WEB, ERRORS, APDEX];
    this.#wanted = {
      host: metrics.of(ofHosts),
      application: metrics.of([...ofHosts, END_USER, END_USER_APDEX]),
      key_transaction: metrics.of([]),
    };
  }

  kindOf({ kind }: RollingSubject): Kind {
    return KINDS[kind];
  }

  askedOf(subject: RollingSubject): Asked | undefined {
    const wanted = this.#wanted[subject.kind];
    if (subject.kind === 'application') return { id: subject.applicationId, wanted };
    if (subject.kind === 'host') return { id: subject.applicationId, host: subject.hostKey, wanted };
    const known = this.#keyTransactions.known(subject.keyTransactionId);
    return known === undefined ? undefined : { id: known.guid, wanted };
  }

  /** Key transactions need a query of their own, and one more for their owners. */
  override nextCall(subjects: readonly RollingSubject[], range: TimeRange): NextCall {
    const { count, calls } = super.nextCall(subjects, range);
    const owners = partsOf(this.#ownersOf(subjects.slice(0, count).filter(isOfKeyTransaction)));
    return { count, calls: calls + planQueries(owners, this.timeslices.fleet, OWNERS).length };
  }

  override async read(
    subjects: readonly RollingSubject[],
    range: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<RollingValues>[]> {
    const owners = partsOf(this.#ownersOf(subjects.filter(isOfKeyTransaction)));
    const ofOwners = { ...OWNERS, range: { from: range.to - KEY_TRANSACTION_SECONDS, to: range.to } };
    const [found, owned] = await Promise.all([
      this.find(subjects, range, call),
      this.timeslices.read(owners, ofOwners, call),
    ]);
    const outcomes: Outcome<RollingValues>[] = [];
    await inSlices(subjects, (subject) => {
      const isOfEntity = isOfKeyTransaction(subject);
      outcomes.push(isOfEntity ? this.#ofKeyTransaction(subject, found, owned) : this.outcomeOf(subject, found, range));
    });
    return outcomes;
  }

  protected valueOf(subject: RollingSubject, found: SubjectRows): RollingValues {
    const rows = found.rowsOf(subject.kind === 'host' ? subject.hostKey : undefined);
    return rollingOf(rows, found.seconds ?? SECONDS);
  }

  #ofKeyTransaction(
    { keyTransactionId: id }: OfKeyTransaction,
    found: Found,
    owners: FoundParts,
  ): Outcome<RollingValues> {
    const known = this.#keyTransactions.known(id);
    if (known === undefined) {
      const words = `key transaction ${id} is not on the list`;
      const unread = this.#keyTransactions.unread(id);
      const { transport } = this.timeslices;
      return { error: unread ?? transport.fail('key_transactions', new CallFailure('not_found', words)) };
    }
    const { guid, applicationId } = known;
    const own = found.get(KINDS.key_transaction)?.get(guid);
    const owner = applicationId === undefined ? undefined : owners.get(applicationId);
    const ofOwner = owner?.failureOf(undefined);
    // An application that the key cannot see says nothing; what the key transaction itself measured was read.
    const isSeen = applicationId !== undefined && this.timeslices.fleet.isListed(applicationId);
    const error =
      own?.failureOf(undefined) ?? (ofOwner?.failure.reason === 'forbidden' && !isSeen ? undefined : ofOwner);
    if (error !== undefined) return { error };
    const metrics = owner?.rows.get(ITSELF);
    const apdex = metrics?.get(apdexName(known) ?? '');
    const row = own?.rowsOf(undefined).get(ITSELF);
    return { value: keyTransactionOf(row, apdex, metrics !== undefined, own?.seconds ?? KEY_TRANSACTION_SECONDS) };
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
    return [...names].map(([id, list]) => ({ id, wanted: this.#metrics.of(list) }));
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

function isOfKeyTransaction(subject: RollingSubject): subject is OfKeyTransaction {
  return subject.kind === 'key_transaction';
}

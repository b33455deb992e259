import { countCalls } from '../batches.ts';
import { nextCell, cellsOf, type Wanted, type Fleet, MOST_ROWS, plan, type PlanOptions } from './batching.ts';
import { ITSELF, FirstRows, type Row } from './rows.ts';
import type { KeyTransactions, KnownKeyTransaction } from './keyTransactions.ts';
import { MOST_GUIDS, type KeyTransactionRowsRead } from './keyTransactionRows.ts';
import { APDEX, END_USER, END_USER_APDEX, ERRORS, NON_WEB, SIGN_OF_LIFE, WEB, type Terms } from './terms.ts';
import type { Term } from './part.ts';
import { keyTransactionOf, rollingOf } from './rowValues.ts';
import type { Timeslices } from './timeslices.ts';
import type { Transport } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { BatchRead, CallOptions, NextCall, Outcome, RollingSubject, TimeRange } from '../reader.ts';
import type { RollingValues } from '../types.ts';

/** Seconds before the end of the range that the rolling values are taken over. */
const MACHINE_SECONDS = 240;
const KEY_TRANSACTION_SECONDS = 600;

const SIGNS = [SIGN_OF_LIFE, WEB, NON_WEB];
const HOST_NAMES = [...SIGNS, ERRORS, APDEX];
const APPLICATION_NAMES = [...HOST_NAMES, END_USER, END_USER_APDEX];

const OPTIONS = {
  application: { kind: 'rolling applications', byHost: false, mostRows: MOST_ROWS },
  host: { kind: 'rolling hosts', byHost: true, mostRows: MOST_ROWS },
  key_transaction: { kind: 'rolling key transactions', byHost: false, mostRows: MOST_ROWS },
} as const satisfies Record<RollingSubject['kind'], PlanOptions>;

type Machine = Extract<RollingSubject, { kind: 'application' | 'host' }>;
type OfKeyTransaction = Extract<RollingSubject, { kind: 'key_transaction' }>;

const NO_ROWS: ReadonlyMap<string, readonly Row[]> = new Map();

/**
 * Reads rolling values: of applications and hosts over the last 4 minutes of the range, of key transactions over 10. The
 * service's own figures have a window and a scale that no public page tells.
 */
export class RollingRead implements BatchRead<RollingSubject, RollingValues> {
  readonly #transport: Transport;
  readonly #timeslices: Timeslices;
  readonly #fleet: Fleet;
  readonly #terms: Terms;
  readonly #hostTerms: readonly Term[];
  readonly #applicationTerms: readonly Term[];
  readonly #keyTransactions: KeyTransactions;
  readonly #rows: KeyTransactionRowsRead;

  constructor(parts: {
    readonly transport: Transport;
    readonly timeslices: Timeslices;
    readonly fleet: Fleet;
    readonly terms: Terms;
    readonly keyTransactions: KeyTransactions;
    readonly rows: KeyTransactionRowsRead;
  }) {
    this.#transport = parts.transport;
    this.#timeslices = parts.timeslices;
    this.#fleet = parts.fleet;
    this.#terms = parts.terms;
    this.#hostTerms = parts.terms.of(HOST_NAMES);
    this.#applicationTerms = parts.terms.of(APPLICATION_NAMES);
    this.#keyTransactions = parts.keyTransactions;
    this.#rows = parts.rows;
  }

  /** Applications, hosts and key transactions need queries of their own; key transactions one more for their owners. */
  nextCall(subjects: readonly RollingSubject[]): NextCall {
    const other = subjects.findIndex(({ kind }) => kind !== subjects[0]?.kind);
    const alike = other === -1 ? subjects : subjects.slice(0, other);
    const keyTransactions = alike.filter(isKeyTransaction).slice(0, MOST_GUIDS);
    if (keyTransactions.length === 0) {
      return nextCell(
        alike.filter((subject) => subject.kind !== 'key_transaction'),
        this.#fleet,
        (subject) => this.#machine(subject),
        ({ kind }) => OPTIONS[kind],
      );
    }
    const owners = plan(cellsOf(this.#owners(keyTransactions)), this.#fleet, OPTIONS.key_transaction);
    return { count: keyTransactions.length, calls: 1 + owners.length };
  }

  callsFor(subjects: readonly RollingSubject[], range: TimeRange): number {
    return countCalls(this, subjects, range);
  }

  async read(
    subjects: readonly RollingSubject[],
    { to }: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<RollingValues>[]> {
    const [applications, hosts, keyTransactions] = await Promise.all([
      this.#readMachines(subjects.filter(isApplication), 'application', to, call),
      this.#readMachines(subjects.filter(isHost), 'host', to, call),
      this.#readKeyTransactions(subjects.filter(isKeyTransaction), to, call),
    ]);
    return subjects.map((subject) => {
      if (subject.kind === 'application') return applications(subject);
      return subject.kind === 'host' ? hosts(subject) : keyTransactions(subject);
    });
  }

  async #readMachines(
    subjects: readonly Machine[],
    kind: 'application' | 'host',
    to: number,
    call: CallOptions,
  ): Promise<(subject: Machine) => Outcome<RollingValues>> {
    const range = { from: to - MACHINE_SECONDS, to };
    const cells = cellsOf(subjects.map((subject) => this.#machine(subject)));
    const group = kind === 'host' ? 'hosts' : 'applications';
    const found = await this.#timeslices.read(cells, { ...OPTIONS[kind], group, range }, call);
    return (subject) => {
      const entity = found.get(subject.applicationId);
      const key = subject.kind === 'host' ? subject.hostKey : ITSELF;
      const failure = entity?.failureOf(key);
      if (failure !== undefined) return { error: failure };
      const rows = entity?.rows.get(key) ?? NO_ROWS;
      return { value: rollingOf(new FirstRows(rows), secondsOf(rows, MACHINE_SECONDS)) };
    };
  }

  async #readKeyTransactions(
    subjects: readonly OfKeyTransaction[],
    to: number,
    call: CallOptions,
  ): Promise<(subject: OfKeyTransaction) => Outcome<RollingValues>> {
    const range = { from: to - KEY_TRANSACTION_SECONDS, to };
    const asked = subjects.flatMap(({ keyTransactionId: id }) => {
      const known = this.#keyTransactions.known(id);
      return known === undefined ? [] : [{ id, guid: known.guid }];
    });
    const [{ rows, failures }, owners] = await Promise.all([
      this.#rows.read(asked, range, call),
      this.#timeslices.read(
        cellsOf(this.#owners(subjects)),
        { ...OPTIONS.key_transaction, group: 'key_transactions', range },
        call,
      ),
    ]);
    return ({ keyTransactionId: id }) => {
      const known = this.#keyTransactions.known(id);
      if (known === undefined) return { error: this.#keyTransactions.unread(id) ?? this.#unknown(id) };
      const owner = known.applicationId === undefined ? undefined : owners.get(known.applicationId);
      const ofOwner = owner?.failureOf(ITSELF);
      // An application that the key cannot see says nothing; what the key transaction itself measured was read.
      const isUnseen = ofOwner?.failure.reason === 'forbidden' && !this.#isListed(known);
      const failure = failures.get(id) ?? (isUnseen ? undefined : ofOwner);
      if (failure !== undefined) return { error: failure };
      const own = new FirstRows(owner?.rows.get(ITSELF) ?? NO_ROWS);
      const apdex = apdexName(known);
      const verdicts = apdex === undefined ? undefined : own.get(apdex);
      const row = rows.get(id);
      return { value: keyTransactionOf(row, verdicts, own.size > 0, row?.seconds ?? KEY_TRANSACTION_SECONDS) };
    };
  }

  #isListed({ applicationId }: KnownKeyTransaction): boolean {
    return applicationId !== undefined && this.#fleet.isListed(applicationId);
  }

  #unknown(id: number): ReturnType<Transport['fail']> {
    const words = `key transaction ${id} is not on the list`;
    return this.#transport.fail('key_transactions', new CallFailure('not_found', words));
  }

  #machine(subject: Machine): Wanted {
    const { applicationId } = subject;
    return subject.kind === 'host'
      ? { applicationId, host: subject.hostKey, terms: this.#hostTerms }
      : { applicationId, host: undefined, terms: this.#applicationTerms };
  }

  /** What is read of the owning applications: whether they report, and the Apdex of the transactions. */
  #owners(subjects: readonly OfKeyTransaction[]): Wanted[] {
    const names = new Map<number, string[]>();
    for (const { keyTransactionId } of subjects) {
      const known = this.#keyTransactions.known(keyTransactionId);
      if (known?.applicationId === undefined) continue;
      const apdex = apdexName(known);
      const list = names.get(known.applicationId) ?? [...SIGNS];
      names.set(known.applicationId, apdex === undefined ? list : [...list, apdex]);
    }
    return [...names].map(([applicationId, list]) => ({
      applicationId,
      host: undefined,
      terms: this.#terms.of(list),
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

/** Of the range that was answered; without rows that of the one asked for. */
function secondsOf(rows: ReadonlyMap<string, readonly Row[]>, asked: number): number {
  const first = rows.values().next().value?.[0];
  return first === undefined ? asked : first.to - first.from;
}

function isApplication(subject: RollingSubject): subject is Extract<RollingSubject, { kind: 'application' }> {
  return subject.kind === 'application';
}

function isHost(subject: RollingSubject): subject is Extract<RollingSubject, { kind: 'host' }> {
  return subject.kind === 'host';
}

function isKeyTransaction(subject: RollingSubject): subject is OfKeyTransaction {
  return subject.kind === 'key_transaction';
}

import { FailureMemory, type SubjectId } from '../http/failureMemory.ts';
import type { IdListForm } from '../../nrql/goldenMetric.ts';
import type { Application, UpstreamError } from '../types.ts';

/** What only the full entity of a key transaction says, and its rolling values are read by. */
export interface KeyTransactionDetails {
  readonly guid: string;
  readonly apdexTarget: number | undefined;
  readonly transactionName: string | undefined;
  readonly applicationId: number | undefined;
}

/** What the search for key transactions says of one. */
export interface KeyTransactionEntity {
  readonly id: number;
  readonly guid: string;
  readonly name: string;
  readonly reporting: boolean;
  readonly healthStatus: string | undefined;
}

/** How many hosts, datastore types and names that custom metrics may match an application has before they were read. */
const FIRST_SIZES = { hosts: 1, datastores: 3, matches: 50 };

/**
 * What responses told about an account. It belongs to the account, not to a reader: a reload hands it to the next reader, and
 * what the one before still reads is there for both.
 */
export class AccountMemory {
  readonly failures: FailureMemory;
  /** The only account that the key sees, with the key. */
  onlyAccount: { readonly id: number; readonly key: string | undefined } | undefined;
  /** The entities of the last searches, by guid: a field that fails keeps what it said in them. */
  applications: ReadonlyMap<string, Application> = new Map();
  keyTransactionEntities: ReadonlyMap<string, KeyTransactionEntity> = new Map();
  /** What only the full entities of key transactions say, by guid. */
  readonly keyTransactionDetails = new Map<string, KeyTransactionDetails & { readAt: number; isWhole: boolean }>();
  /** The key transactions of the last list by id, or why their details were never read. */
  keyTransactions: ReadonlyMap<number, (KeyTransactionDetails & { readonly name: string }) | UpstreamError> = new Map();
  /** How many entities a page of a type's list holds, by type: less where pages were too big. */
  readonly entityPages = new Map<string, { limit: number }>();
  /** How New Relic takes a list of ids that may be numbers or texts. */
  idListForm: IdListForm = 'mixed';
  #listed: ReadonlyMap<SubjectId, Pick<Application, 'language' | 'reporting' | 'hosts'>> = new Map();
  /** As they were read. The owner of a key transaction need not be on the list: it is forgotten with the next one. */
  readonly #sizes = new Map<SubjectId, Partial<typeof FIRST_SIZES>>();

  constructor(monotonic: () => number) {
    this.failures = new FailureMemory(monotonic);
  }

  /** Takes the whole application list; what is no longer on it is forgotten. */
  listed(applications: readonly Application[]): void {
    this.#listed = new Map(
      applications.map(({ id, language, reporting, hosts }) => [id, { language, reporting, hosts }]),
    );
    for (const id of this.#sizes.keys()) if (!this.#listed.has(id)) this.#sizes.delete(id);
    this.failures.forgetOld();
  }

  /** Ids of the applications that reported at the last list. */
  get reporting(): readonly SubjectId[] {
    return [...this.#listed].filter(([, { reporting }]) => reporting === true).map(([id]) => id);
  }

  /** Whether it was on the last list: otherwise it is one that the key cannot see. */
  isListed(applicationId: number): boolean {
    return this.#listed.has(applicationId);
  }

  language(applicationId: number): string | undefined {
    return this.#listed.get(applicationId)?.language;
  }

  /** As they were read; at first it has as many hosts as the list says. */
  sizes(id: SubjectId): Readonly<typeof FIRST_SIZES> {
    const { hosts, datastores, matches } = this.#sizes.get(id) ?? {};
    return {
      hosts: Math.max(1, hosts ?? this.#listed.get(id)?.hosts ?? FIRST_SIZES.hosts),
      datastores: datastores ?? FIRST_SIZES.datastores,
      matches: matches ?? FIRST_SIZES.matches,
    };
  }

  saw(id: SubjectId, sizes: Partial<typeof FIRST_SIZES>): void {
    this.#sizes.set(id, { ...this.#sizes.get(id), ...sizes });
  }
}

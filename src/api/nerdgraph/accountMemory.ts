import { Omissions } from '../http/omissions.ts';
import { FailureMemory, type SubjectId } from './failureMemory.ts';
import { getOrAdd } from '../maps.ts';
import type { Application } from '../types.ts';
import type { UpstreamError } from '../upstreamError.ts';
import type { GoldenMetric } from '../upstreamReader.ts';
import type { Json } from '../http/validation.ts';
import type { Group } from '../../reads/reads.ts';

/** Fields that only the full entity of a key transaction has. */
export interface KeyTransactionDetails {
  readonly guid: string;
  readonly apdexTarget: number | undefined;
  readonly transactionName: string | undefined;
  readonly applicationId: number | undefined;
}

/** A listed key transaction; an error: its details were never read. */
export type KnownKeyTransaction = (KeyTransactionDetails & { readonly name: string }) | UpstreamError;

/** Entities on a page. New Relic allows no larger page. */
export const PAGE_SIZE = 200;

/** The entities of one type for one group. Groups request different fields and page sizes. */
export interface EntityList {
  /** Entities to request for each page. A page that is too big, or times out, lowers the limit. */
  limit: number;
  /** Entities of the last search by guid, with New Relic's field names. */
  entities: ReadonlyMap<string, Json>;
  /** Entities that the last searches lacked but that may exist, with the number of searches that lacked them. */
  absences: ReadonlyMap<string, number>;
}

/** What is assumed until the first read of an application. `matches`: custom names. */
const FIRST_SIZES = { hosts: 1, datastores: 3, matches: 50 };

/** Remembers facts about an account. A reload passes it on; reads of the previous reader still update it. */
export class AccountMemory {
  readonly failures: FailureMemory;
  readonly omissions: Omissions;
  /** Settles when the last division of a batch ends. The next division waits for it. */
  lastDivision: Promise<unknown> = Promise.resolve();
  onlyAccount: { readonly id: number; readonly key: string | undefined } | undefined;
  readonly keyTransactionDetails = new Map<string, KeyTransactionDetails & { readAt: number; isWhole: boolean }>();
  /** Key transactions of the last list. */
  keyTransactions: ReadonlyMap<number, KnownKeyTransaction> = new Map();
  readonly #entityLists = new Map<string, EntityList>();
  /** Golden metric definitions by their JSON, so that entities with equal definitions share one list. */
  readonly goldenMetrics = new Map<string, readonly GoldenMetric[]>();
  /** How New Relic accepts ids where some are numbers and some texts; undefined: unknown yet. */
  idListForm: 'mixed' | 'separate' | undefined;
  hasListed = false;
  /** Of the last list. The key sees no other applications. */
  applications: ReadonlyMap<SubjectId, Pick<Application, 'language' | 'reporting' | 'hosts'>> = new Map();
  /** Sizes as last read. The next list removes the sizes of unlisted applications, which may own key transactions. */
  readonly #sizes = new Map<SubjectId, Partial<typeof FIRST_SIZES>>();

  constructor(monotonic: () => number) {
    this.failures = new FailureMemory(monotonic);
    this.omissions = new Omissions(monotonic);
  }

  /** @param type `DOMAIN-TYPE` */
  entityListOf(group: Group, type: string): EntityList {
    const make = (): EntityList => ({ limit: PAGE_SIZE, entities: new Map(), absences: new Map() });
    return getOrAdd(this.#entityLists, `${group} ${type}`, make);
  }

  /** Stores the whole application list, and forgets the sizes of applications that are not on it. */
  storeApplications(applications: readonly Pick<Application, 'id' | 'language' | 'reporting' | 'hosts'>[]): void {
    this.applications = new Map(applications.map((application) => [application.id, application]));
    this.hasListed ||= applications.length > 0;
    for (const id of this.#sizes.keys()) if (!this.applications.has(id)) this.#sizes.delete(id);
    this.forgetOld();
  }

  forgetOld(): void {
    this.failures.forgetOld();
    this.omissions.forgetOld();
  }

  get reporting(): readonly SubjectId[] {
    return [...this.applications].filter(([, { reporting }]) => reporting === true).map(([id]) => id);
  }

  /** Returns the sizes as last read. Before the first read, the number of hosts comes from the list. */
  sizesOf(id: SubjectId): Readonly<typeof FIRST_SIZES> {
    const { hosts, datastores, matches } = this.#sizes.get(id) ?? {};
    return {
      hosts: Math.max(1, hosts ?? this.applications.get(id)?.hosts ?? FIRST_SIZES.hosts),
      datastores: datastores ?? FIRST_SIZES.datastores,
      matches: matches ?? FIRST_SIZES.matches,
    };
  }

  recordSizes(id: SubjectId, sizes: Partial<typeof FIRST_SIZES>): void {
    this.#sizes.set(id, { ...this.#sizes.get(id), ...sizes });
  }
}

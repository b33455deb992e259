import { Omissions } from '../http/omissions.ts';
import { FailureMemory, type SubjectId } from './failureMemory.ts';
import type { Application } from '../types.ts';
import type { UpstreamError } from '../upstreamError.ts';
import type { GoldenMetric } from '../upstreamReader.ts';
import type { Json } from '../http/validation.ts';
import type { Group } from '../../reads/reads.ts';

/** Fields that only the full entity of a key transaction has; the queries of its rolling values need them. */
export interface KeyTransactionDetails {
  readonly guid: string;
  readonly apdexTarget: number | undefined;
  readonly transactionName: string | undefined;
  readonly applicationId: number | undefined;
}

/** Size of New Relic's pages of entities; a larger one cannot be requested. */
export const PAGE_SIZE = 200;

/** The list of the entities of one type, for one group: fields and pages differ. */
export interface EntityList {
  /** The number of entities on a page; lower where pages were too big. */
  limit: number;
  /** The entities of the last search by guid, with the names of their fields in New Relic. */
  entities: ReadonlyMap<string, Json>;
  /** Entities that the last searches lacked, but that may exist, with the number of these searches. */
  absences: ReadonlyMap<string, number>;
}

/** Assumed number of hosts, datastore types and matching custom names of an application before they are read. */
const FIRST_SIZES = { hosts: 1, datastores: 3, matches: 50 };

/** Facts learned about an account. A reload hands them to the next reader, with what the previous one still finishes. */
export class AccountMemory {
  readonly failures: FailureMemory;
  readonly omissions: Omissions;
  /** The end of the last division of a batch, for which the next one waits. */
  lastDivision: Promise<unknown> = Promise.resolve();
  onlyAccount: { readonly id: number; readonly key: string | undefined } | undefined;
  /** Fields of key transactions that only their full entities have, by guid. */
  readonly keyTransactionDetails = new Map<string, KeyTransactionDetails & { readAt: number; isWhole: boolean }>();
  /** The key transactions of the last list by id, or the error if their details were never read. */
  keyTransactions: ReadonlyMap<number, (KeyTransactionDetails & { readonly name: string }) | UpstreamError> = new Map();
  readonly #entityLists = new Map<string, EntityList>();
  /** Equal definitions of golden metrics are one object. */
  readonly goldenMetrics = new Map<string, readonly GoldenMetric[]>();
  /** The form in which New Relic accepts a list of ids that may be numbers or texts; undefined: not known yet. */
  idListForm: 'mixed' | 'separate' | undefined;
  /** True once an application list was not empty. */
  hasListed = false;
  /** The applications of the last list: the key cannot see others. */
  applications: ReadonlyMap<SubjectId, Pick<Application, 'language' | 'reporting' | 'hosts'>> = new Map();
  /** Sizes as last read, also of owners of key transactions that are not on the list: the next list removes those. */
  readonly #sizes = new Map<SubjectId, Partial<typeof FIRST_SIZES>>();

  constructor(monotonic: () => number) {
    this.failures = new FailureMemory(monotonic);
    this.omissions = new Omissions(monotonic);
  }

  /** @param type `DOMAIN-TYPE` */
  entityListOf(group: Group, type: string): EntityList {
    const key = `${group} ${type}`;
    const list = this.#entityLists.get(key) ?? { limit: PAGE_SIZE, entities: new Map(), absences: new Map() };
    this.#entityLists.set(key, list);
    return list;
  }

  /** Stores the whole application list, and removes the records of applications that are no longer on it. */
  storeApplications(applications: readonly Pick<Application, 'id' | 'language' | 'reporting' | 'hosts'>[]): void {
    this.applications = new Map(
      applications.map(({ id, language, reporting, hosts }) => [id, { language, reporting, hosts }]),
    );
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

  /** Sizes as last read; before the first read the number of hosts comes from the list. */
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

import type { Block } from '../metrics/sample.ts';
import type { Plan } from './plan.ts';
import type { Group } from '../metrics/groups.ts';

/** What an answer is about: all of it, some groups, one account, or one application. */
export interface Scope {
  readonly groups: ReadonlySet<Group>;
  readonly account?: string;
  readonly applicationId?: number;
  /** True: the groups' lists only, as the command line tools need them, no metric data. */
  readonly listsOnly?: boolean;
}

/** How far an entity's held value is from what is due (contract 5.5). */
export type EntityState = 'fresh' | 'stale' | 'missing';

/** What is served now for a scope. */
export interface Answer {
  readonly blocks: readonly Block[];
  /** True when every due entity of the scope is fresh. */
  readonly complete: boolean;
  /** Series left out by the caps of custom metrics, by family. */
  readonly cut: ReadonlyMap<string, number>;
}

export interface GroupStatus {
  readonly group: Group;
  /** Configured and effective interval in seconds; the latter grows when the budget cannot carry the former. */
  readonly intervalSeconds: number;
  readonly effectiveIntervalSeconds: number;
  /** Undefined before the first refresh has ended. */
  readonly success: boolean | undefined;
  /** Unix times in seconds. */
  readonly lastSuccess: number | undefined;
  readonly durationSeconds: number | undefined;
  readonly entities: Readonly<Record<EntityState, number>>;
  readonly oldestWindowEnd: number | undefined;
}

export interface BudgetStatus {
  /** Calls per minute: as configured, and as in force now (lower while recovering from an overload answer). */
  readonly configured: number;
  readonly inForce: number;
  readonly lastMinute: number;
  readonly inFlight: number;
  /** Unix time in seconds; undefined when not paused. */
  readonly pausedUntil: number | undefined;
}

/** One unit of work: a list of an account or an application, or the metric data of an application or a host. */
export interface EntityStatus {
  readonly group: Group;
  readonly applicationId: number | undefined;
  readonly application: string | undefined;
  readonly hostId: string | undefined;
  readonly host: string | undefined;
  readonly state: EntityState;
  /** Failed attempts in a row. */
  readonly failures: number;
  /** Why the last attempt failed, in words; undefined when it did not. */
  readonly problem: string | undefined;
  /** Seconds the last attempt took. */
  readonly seconds: number | undefined;
  readonly windowEnd: number | undefined;
}

export interface ApplicationView {
  readonly id: number;
  readonly name: string;
  readonly language: string | undefined;
  readonly reporting: boolean;
}

export interface AccountStatus {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** True when the last application list was read whole. */
  readonly up: boolean;
  /** Why the account is stopped but for one list call per interval; undefined when it is not. */
  readonly refused: string | undefined;
  /** End of the newest window served, Unix time in seconds. */
  readonly windowEnd: number | undefined;
  readonly groups: readonly GroupStatus[];
  readonly budget: BudgetStatus;
  /** Those it serves; undefined until the application list has been read once. */
  readonly applications: readonly ApplicationView[] | undefined;
  /** How many its lists hold, before its filters. */
  readonly visible: { readonly applications: number; readonly keyTransactions: number };
  readonly keyTransactions: number;
  readonly entities: readonly EntityStatus[];
  /** What a steady state of what is known now costs. */
  readonly plan: Plan;
  /** Things that should be looked at, in words: includes and templates that match nothing, a plan that does not fit. */
  readonly warnings: readonly string[];
}

/** The application list of an account as it is served now. */
export interface ApplicationList {
  readonly account: string;
  /** Undefined where the list was never read, or what is held is too old to be served. */
  readonly applications: readonly ApplicationView[] | undefined;
}

/** The collector as the web pages, the service discovery and the exporter's own metrics see it. */
export interface CollectorView {
  /**
   * Starts whatever is due in the scope and resolves when it has ended, when the deadline (Unix milliseconds) is
   * reached, or at once when it cannot end before the deadline. Never rejects.
   */
  refresh(scope: Scope, deadline: number): Promise<void>;
  /** What is served; `asOf` (Unix milliseconds) judges freshness by the start of the scrape that is answered. */
  answer(scope: Scope, asOf?: number): Answer;
  status(asOf?: number): readonly AccountStatus[];
  /** The lists alone, without the state of anything else. */
  applicationLists(): readonly ApplicationList[];
  /** False when there is work that could be started and none has been for too long. */
  progressing(): boolean;
  /** True once the first refresh has ended; scrapes can be answered before that, background readers wait for it. */
  readonly refreshedOnce: boolean;
}

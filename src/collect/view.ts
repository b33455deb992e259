import type { Api } from '../api/reader.ts';
import type { FailureReason } from '../api/types.ts';
import type { RowDropReason } from '../nrql/queryRows.ts';
import type { Group, Block, DroppedSeries } from '../metrics/sample.ts';

/** What an answer is about: all of it, some groups, one account, or one application. */
export interface Scope {
  readonly groups: ReadonlySet<Group>;
  readonly account?: string;
  readonly applicationId?: number;
  /** True: the groups' lists only, as the command line tools need them, no metric data. */
  readonly listsOnly?: boolean;
}

/** How far an entity's held value is from what is due. */
export type EntityState = 'fresh' | 'stale' | 'missing';

/** When an answer was asked for, which decides what is fresh, and when it is put together: the monotonic clock, ms. */
export interface AnswerTime {
  readonly asOf: number;
  readonly now: number;
}

/** What a steady state of what is asked for costs. */
export interface Plan {
  readonly groups: readonly {
    readonly group: Group;
    readonly callsPerRefresh: number;
    readonly callsPerMinute: number;
    /** Configured, and what can be carried, in milliseconds. */
    readonly interval: number;
    readonly effectiveInterval: number;
  }[];
  readonly callsPerMinute: number;
  /** Calls per minute that are allowed. */
  readonly budget: number;
  /**
   * Calls per minute that the calls at once can carry at the duration that was measured; undefined before a call has
   * ended.
   */
  readonly carriedByPlaces: number | undefined;
  /** 1 when every group can be refreshed at its interval, else the factor by which all of them slow. */
  readonly stretch: number;
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

/** Something that is read as a whole: a list, or the data of an application, a host or a key transaction. */
export interface EntityStatus {
  readonly group: Group;
  readonly applicationId: number | undefined;
  readonly application: string | undefined;
  readonly hostId: string | undefined;
  readonly host: string | undefined;
  readonly query?: string | undefined;
  readonly state: EntityState;
  /** Failed attempts in a row. */
  readonly failures: number;
  /** Why the last attempt failed: the reason as metrics name it, and in words; undefined when it did not. */
  readonly reason?: FailureReason | undefined;
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
  /** Values by key, both as upstream spells them; undefined where the interface has none. */
  readonly tags?: readonly { readonly key: string; readonly values: readonly string[] }[] | undefined;
}

/** One query of an account. */
export interface QueryStatus {
  readonly name: string;
  readonly nrql: string;
  readonly state: EntityState;
  /** Whether the last attempt succeeded; undefined before the first has ended. */
  readonly success: boolean | undefined;
  /** Seconds the last attempt took. */
  readonly seconds: number | undefined;
  /** When it was last read well, Unix seconds. */
  readonly lastSuccess: number | undefined;
  /** Of the last good answer; undefined before there was one. */
  readonly rows: number | undefined;
  /** The columns of that answer. */
  readonly columns: readonly string[];
  readonly labels: readonly string[];
  /** How many it serves now, and how many its limit has cut. */
  readonly series: number;
  readonly cut: number;
  /** Rows that became no series, since the start. */
  readonly dropped: Readonly<Record<RowDropReason, number>>;
  /** Why the last attempt failed, in words; undefined when it did not. */
  readonly problem: string | undefined;
}

export interface AccountStatus {
  readonly name: string;
  readonly api: Api;
  /** Empty where the configuration gives an address instead. */
  readonly region: string;
  /** When the vendor ends the interface, Unix seconds; undefined when no end is known. */
  readonly endOfLife: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** True when the last application list was read whole; of an account that reads none, when a query is answered. */
  readonly up: boolean;
  /** Why the account is stopped but for one list call per interval; undefined when it is not. */
  readonly refused: string | undefined;
  /** End of the newest window served, Unix time in seconds. */
  readonly windowEnd: number | undefined;
  readonly groups: readonly GroupStatus[];
  readonly budget: BudgetStatus;
  /**
   * How many applications the account lists, how many of them it exports, and how many of those report; undefined until
   * the list was read whole, and while `up` is false.
   */
  readonly applicationCounts:
    { readonly listed: number; readonly exported: number; readonly reporting: number } | undefined;
  /** Those it serves; undefined until the application list has been read once. */
  readonly applications: readonly ApplicationView[] | undefined;
  /** How many its lists hold, before its filters. */
  readonly visible: { readonly applications: number; readonly keyTransactions: number };
  readonly keyTransactions: number;
  /** In the order of the configuration. */
  readonly queries: readonly QueryStatus[];
  readonly entities: readonly EntityStatus[];
  /** What a steady state of what is known now costs. */
  readonly plan: Plan;
  /**
   * Things that should be looked at, in words: no applications, or fewer than within the last hour, includes and templates
   * that match nothing, values of custom metrics that upstream does not have, a plan that does not fit.
   */
  readonly warnings: readonly string[];
}

/** What is served now for a scope. */
export interface Answer {
  readonly blocks: readonly Block[];
  /** True when every due entity of the scope is fresh. */
  readonly complete: boolean;
  /** Series left out by the caps of custom metrics and queries, reading by reading. */
  readonly cut: readonly DroppedSeries[];
  /** The state of the scope's accounts, of the same moment as the series: nothing counts as fresh that is not in them. */
  readonly accounts: readonly AccountStatus[];
}

/** What a probe of one application gives. */
export type ProbeResult =
  | { readonly kind: 'unknown_account' }
  | { readonly kind: 'unknown_application' }
  /** The application list could not be read, so nobody knows; the notes say why. */
  | { readonly kind: 'unreadable'; readonly notes: readonly string[] }
  /** `success`: nothing failed and nothing is missing; `notes`: what was read and why a family is absent, in words. */
  | {
      readonly kind: 'answer';
      readonly success: boolean;
      readonly blocks: readonly Block[];
      /** As in an answer. */
      readonly cut: readonly DroppedSeries[];
      readonly notes: readonly string[];
    };

/** The application list of an account as it is served now. */
export interface ApplicationList {
  readonly account: string;
  /** How many the account lists, before its filters; undefined as `applications` is. */
  readonly listed: number | undefined;
  /** Undefined where the list was never read, or what is held is too old to be served. */
  readonly applications: readonly ApplicationView[] | undefined;
}

/** The collector as the web pages, the service discovery and the exporter's own metrics see it. */
export interface CollectorView {
  /**
   * Starts whatever is due in the scope and resolves when it has ended, after `waitMs` milliseconds, at once when it
   * cannot end by then, or when the signal is aborted: then nobody waits for it, and the work goes on. Never rejects.
   */
  refresh(scope: Scope, waitMs: number, signal?: AbortSignal): Promise<void>;
  /**
   * What is served; put together in portions between which other work goes on. `asOf`, milliseconds of the monotonic
   * clock, judges freshness by the start of the scrape that is answered; in background mode the newest refresh of the
   * timer decides instead. Never rejects.
   */
  answer(scope: Scope, asOf?: number): Promise<Answer>;
  /** The lists alone, without the state of anything else, of the accounts that read applications. */
  applicationLists(): readonly ApplicationList[];
  /** False when there is work that could be started and none has been for too long. */
  progressing(): boolean;
  /** True once the first refresh has ended; scrapes can be answered before that, background readers wait for it. */
  readonly refreshedOnce: boolean;
}

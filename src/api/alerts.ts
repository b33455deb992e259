/** An alert condition as New Relic stores it. Durations are seconds; a missing setting is undefined. */
export interface AlertCondition {
  readonly id: string;
  readonly policyId: string;
  readonly name: string;
  readonly description: string;
  readonly runbookUrl: string;
  readonly enabled: boolean;
  /** `STATIC`, `BASELINE` or `OUTLIER`. */
  readonly type: string;
  readonly nrql: string;
  /** The account whose data the condition reads, if it is another one. */
  readonly dataAccountId: number | undefined;
  readonly terms: readonly AlertTerm[];
  readonly signal: {
    readonly aggregationWindow: number | undefined;
    readonly slideBy: number | undefined;
    readonly evaluationDelay: number | undefined;
    /** `NONE`, `LAST_VALUE` or `STATIC`. */
    readonly fillOption: string;
    readonly fillValue: number | undefined;
  };
  readonly expiration: {
    readonly expirationDuration: number | undefined;
    readonly openViolationOnExpiration: boolean;
    readonly ignoreOnExpectedTermination: boolean;
  };
  readonly violationTimeLimit: number | undefined;
}

/** A threshold of a condition. */
export interface AlertTerm {
  readonly operator: string;
  /** `CRITICAL` or `WARNING`. */
  readonly priority: string;
  readonly threshold: number;
  readonly thresholdDuration: number;
  /** `ALL` or `AT_LEAST_ONCE`. */
  readonly thresholdOccurrences: string;
  readonly isPredicted: boolean;
}

/** A policy or another part of an account's alerting of which only the name is needed. */
export interface NamedAlerting {
  readonly id: string;
  readonly name: string;
}

/** The parts of an account's alerting that decide when an event opens. */
export interface AlertSettings {
  /** The id of the account. */
  readonly accountId: number;
  readonly policies: readonly NamedAlerting[];
  readonly conditions: readonly AlertCondition[];
  readonly compoundConditions: readonly (NamedAlerting & { readonly policyId: string | undefined })[];
  readonly mutingRules: readonly NamedAlerting[];
}

import type { AlertCondition, AlertSettings, AlertTerm } from '../../../src/api/alerts.ts';
import { convert, type Conversion } from '../../../src/tools/alertRules/convert.ts';

export const ACCOUNT = { name: 'shop', labels: {}, id: 1 };

export const TERM: AlertTerm = {
  operator: 'ABOVE',
  priority: 'CRITICAL',
  threshold: 5,
  thresholdDuration: 180,
  thresholdOccurrences: 'ALL',
  isPredicted: false,
};

export const CONDITION: AlertCondition = {
  id: '7',
  policyId: '1',
  name: 'Queue',
  description: '',
  runbookUrl: '',
  enabled: true,
  type: 'STATIC',
  nrql: 'SELECT average(depth) FROM JobQueue',
  dataAccountId: undefined,
  terms: [TERM],
  signal: {
    aggregationWindow: undefined,
    slideBy: undefined,
    evaluationDelay: undefined,
    fillOption: 'NONE',
    fillValue: undefined,
  },
  expiration: {
    expirationDuration: undefined,
    openViolationOnExpiration: false,
    ignoreOnExpectedTermination: false,
  },
  violationTimeLimit: undefined,
};

export const SETTINGS: AlertSettings = {
  accountId: 1,
  policies: [{ id: '1', name: 'Team' }],
  conditions: [CONDITION],
  compoundConditions: [],
  mutingRules: [],
};

/** The conversion of conditions, each with some differences from CONDITION. */
export function converted(
  conditions: readonly Partial<AlertCondition>[],
  settings: Partial<AlertSettings> = {},
  account: Parameters<typeof convert>[1] = ACCOUNT,
  withDisabled = false,
): Conversion {
  const all = conditions.map((difference) => ({ ...CONDITION, ...difference }));
  const options = { withDisabled, takenQueries: ['alert_events/open'], requestsPerMinute: 600 };
  return convert({ ...SETTINGS, conditions: all, ...settings }, account, options);
}

/** The entries of the files. */
export function entriesOf({ queries, rules, differences }: Conversion) {
  const { queries: list } = queries as { readonly queries: readonly QueryEntry[] };
  const rulesIn = (file: object): readonly RuleEntry[] =>
    (file as { readonly groups: readonly { readonly rules: readonly RuleEntry[] }[] }).groups.flatMap(
      (one) => one.rules,
    );
  return { queries: list, rules: rulesIn(rules), differences: rulesIn(differences) };
}

export interface QueryEntry {
  readonly name: string;
  readonly nrql: string;
  readonly labels?: readonly string[];
  readonly window: string;
  readonly metrics: readonly { readonly name: string; readonly help: string; readonly value?: string }[];
}

export interface RuleEntry {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly keep_firing_for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

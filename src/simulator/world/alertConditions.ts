import type { World } from './world.ts';
import type { SimulatedApplication } from './worldEntities.ts';

/** A threshold of a condition; its duration is in seconds. */
export interface SimulatedTerm {
  readonly operator: 'ABOVE' | 'ABOVE_OR_EQUALS' | 'BELOW' | 'BELOW_OR_EQUALS' | 'EQUALS' | 'NOT_EQUALS';
  readonly priority: 'CRITICAL' | 'WARNING';
  readonly threshold: number;
  readonly thresholdDuration: number;
  readonly thresholdOccurrences: 'ALL' | 'AT_LEAST_ONCE';
  readonly isPredicted?: boolean;
}

/** An alert condition as it was set up. Durations are seconds. */
export interface SimulatedCondition {
  readonly id: number;
  readonly policyId: number;
  readonly name: string;
  readonly type: 'STATIC' | 'BASELINE' | 'OUTLIER';
  /** `NRQL`, or the product whose older condition it is. */
  readonly sourceProduct: 'NRQL' | 'APM' | 'INFRASTRUCTURE' | 'SYNTHETICS';
  readonly enabled: boolean;
  readonly description: string | null;
  readonly runbookUrl: string | null;
  readonly query: string;
  readonly dataAccountId: number | null;
  readonly terms: readonly SimulatedTerm[];
  readonly signal: {
    readonly aggregationWindow: number;
    readonly slideBy: number | null;
    readonly evaluationDelay: number | null;
    readonly fillOption: 'NONE' | 'LAST_VALUE' | 'STATIC';
    readonly fillValue: number | null;
  };
  readonly expiration: {
    readonly expirationDuration: number | null;
    readonly openViolationOnExpiration: boolean;
    readonly closeViolationsOnExpiration: boolean;
    readonly ignoreOnExpectedTermination: boolean;
  };
  readonly violationTimeLimitSeconds: number | null;
}

interface SimulatedPolicy {
  readonly id: number;
  readonly name: string;
}

/** The policies that belong to no application. */
export const KINDS_POLICY: SimulatedPolicy = { id: 200_001, name: 'Every kind of condition' };
const OLDER_POLICY: SimulatedPolicy = { id: 200_002, name: 'Older conditions: "{{ $labels.x }}" of ${ACCOUNT}' };

/** With at least this number of requests a minute, every minute has some, so the response time has no gaps. */
const STEADY = 10;

/** The threshold as a multiple of the usual response time: ordinary minutes stay below it, minutes of an incident exceed it. */
const SLOW = 1.6;

const PLAIN: Omit<SimulatedCondition, 'id' | 'policyId' | 'name' | 'query' | 'terms'> = {
  type: 'STATIC',
  sourceProduct: 'NRQL',
  enabled: true,
  description: null,
  runbookUrl: null,
  dataAccountId: null,
  signal: { aggregationWindow: 60, slideBy: null, evaluationDelay: null, fillOption: 'NONE', fillValue: null },
  expiration: {
    expirationDuration: null,
    openViolationOnExpiration: false,
    closeViolationsOnExpiration: false,
    ignoreOnExpectedTermination: false,
  },
  violationTimeLimitSeconds: null,
};

const term = (
  operator: SimulatedTerm['operator'],
  threshold: number,
  minutes: number,
  occurrences: SimulatedTerm['thresholdOccurrences'] = 'ALL',
  priority: SimulatedTerm['priority'] = 'CRITICAL',
): SimulatedTerm => ({
  operator,
  priority,
  threshold,
  thresholdDuration: 60 * minutes,
  thresholdOccurrences: occurrences,
});

const responseOf = (where: string): string =>
  `SELECT average(newrelic.timeslice.value) FROM Metric WHERE ${where} AND metricTimesliceName = 'HttpDispatcher'`;

/** True if the response time of an application has a condition: every minute needs requests. */
function isJudged({ alertPolicyId, archetype }: SimulatedApplication): boolean {
  return alertPolicyId !== undefined && archetype.reporting && (archetype.web?.perMinute ?? 0) >= STEADY;
}

/** The policy of the team that an application belongs to; several policies may have one name. */
export function policyOf({ alertPolicyId, archetype }: SimulatedApplication): SimulatedPolicy | undefined {
  if (alertPolicyId === undefined) return undefined;
  return { id: alertPolicyId, name: `Team ${archetype.tags['team']?.[0] ?? 'nobody'}` };
}

/** The condition for slow responses of an application; undefined where it has none. */
export function slowCondition(application: SimulatedApplication): SimulatedCondition | undefined {
  const { id, alertPolicyId, archetype } = application;
  if (alertPolicyId === undefined || !isJudged(application)) return undefined;
  return {
    ...PLAIN,
    id: alertPolicyId * 10 + 1,
    policyId: alertPolicyId,
    name: 'Slow or failing requests',
    description: `Requests of {{ tags.appName }} take longer than usual.\nLook at its database first.`,
    runbookUrl: 'https://runbooks.example/slow?team=${TEAM}',
    query: responseOf(`appId = ${id}`),
    terms: [term('ABOVE', Number((SLOW * (archetype.web?.seconds ?? 0)).toPrecision(3)), 3)],
    violationTimeLimitSeconds: 259_200,
  };
}

/** Baseline conditions, without a fixed threshold; one application in four has them. */
export function baselineConditions({ id, index, alertPolicyId }: SimulatedApplication): readonly SimulatedCondition[] {
  if (alertPolicyId === undefined || index % 4 !== 0) return [];
  const of = (position: number, name: string, query: string): SimulatedCondition => ({
    ...PLAIN,
    id: alertPolicyId * 10 + position,
    policyId: alertPolicyId,
    name,
    type: 'BASELINE',
    query,
    terms: [term('ABOVE', 3, 5, 'ALL', 'WARNING')],
  });
  const memory = `SELECT average(newrelic.timeslice.value) FROM Metric WHERE appId = ${id} AND metricTimesliceName = 'Memory/Physical'`;
  return [of(2, 'Memory grows', memory), of(3, 'Few orders', 'SELECT count(*) FROM Transaction')];
}

/** The response time of all applications, in windows of five minutes that slide. */
export const BY_APPLICATION: SimulatedCondition = {
  ...PLAIN,
  id: 400_001,
  policyId: KINDS_POLICY.id,
  name: 'Response time by application',
  query: `${responseOf("appName LIKE '%'")} FACET appId AS policy, appName`,
  terms: [term('ABOVE_OR_EQUALS', 2, 5, 'AT_LEAST_ONCE'), term('ABOVE', 1.9, 5, 'AT_LEAST_ONCE', 'WARNING')],
  signal: { ...PLAIN.signal, aggregationWindow: 300, slideBy: 60 },
};

/** The condition for an application without requests: missing data counts as 0. */
export function stoppedCondition(application: SimulatedApplication): SimulatedCondition {
  return {
    ...PLAIN,
    id: 400_002,
    policyId: KINDS_POLICY.id,
    name: 'Requests stop',
    query: `SELECT count(newrelic.timeslice.value) FROM Metric WHERE appId = ${application.id} AND metricTimesliceName = 'HttpDispatcher'`,
    terms: [term('BELOW', 1, 5)],
    signal: { ...PLAIN.signal, fillOption: 'STATIC', fillValue: 0 },
  };
}

/** The condition for a lost signal of an application; it has no threshold. */
export function lostCondition(application: SimulatedApplication): SimulatedCondition {
  return {
    ...PLAIN,
    id: 400_003,
    policyId: KINDS_POLICY.id,
    name: 'Signal lost',
    query: responseOf(`appId = ${application.id}`),
    terms: [],
    expiration: {
      ...PLAIN.expiration,
      expirationDuration: 300,
      openViolationOnExpiration: true,
      closeViolationsOnExpiration: true,
    },
  };
}

/** The one application that has conditions for stopped requests and a lost signal. */
export function watchedApplication(world: World): SimulatedApplication | undefined {
  return world.applications().find(isJudged);
}

/** Conditions of the other kinds; no data violates a fixed threshold of an enabled one. */
function otherConditions(accountId: number): readonly SimulatedCondition[] {
  const [jobs, checks] = ['FROM JobQueue', 'FROM SyntheticCheck'];
  const kinds: readonly (Pick<SimulatedCondition, 'name' | 'query' | 'terms'> & Partial<SimulatedCondition>)[] = [
    {
      name: 'Queue depth',
      query: `SELECT latest(depth) ${jobs} FACET queue`,
      terms: [term('ABOVE', 1_000_000, 10, 'AT_LEAST_ONCE')],
      signal: { ...PLAIN.signal, aggregationWindow: 90, fillOption: 'STATIC', fillValue: 0 },
    },
    {
      name: 'Queue has a negative depth',
      query: `SELECT min(depth) ${jobs}`,
      terms: [term('EQUALS', -1, 5, 'AT_LEAST_ONCE')],
      signal: { ...PLAIN.signal, evaluationDelay: 120, fillOption: 'LAST_VALUE' },
    },
    {
      name: 'Locations',
      query: `${checks} SELECT uniqueCount(locationLabel)`,
      terms: [term('NOT_EQUALS', 2, 10)],
      signal: { ...PLAIN.signal, aggregationWindow: 300 },
    },
    {
      name: 'Slowest application',
      query: 'SELECT max(took) FROM (SELECT average(duration) AS took FROM Transaction FACET appName)',
      terms: [{ ...term('ABOVE_OR_EQUALS', 10_000, 5), isPredicted: true }],
    },
    {
      // Control characters and keys in texts must not reach a terminal or a file.
      name: 'Errors \u001b[2J seen with NRAK-0123456789ABCDEFGHIJKLMNOPQ',
      description: "curl -H 'Api-Key: NRAK-SIMULATOR0000000000000000'",
      query: "SELECT percentage(count(*), WHERE error IS TRUE) FROM Transaction WHERE appName LIKE '%' FACET appName",
      terms: [term('ABOVE', 100, 5), term('BELOW_OR_EQUALS', -1, 5, 'ALL', 'WARNING')],
    },
    {
      name: 'Unusual traffic',
      type: 'BASELINE',
      query: 'SELECT count(*) FROM Transaction',
      terms: [term('ABOVE', 3, 5)],
    },
    {
      name: 'One host differs',
      type: 'OUTLIER',
      query: 'SELECT average(duration) FROM Transaction FACET host',
      terms: [term('ABOVE', 3, 5)],
    },
    {
      name: 'Of another account',
      dataAccountId: accountId + 1,
      query: 'SELECT count(*) FROM Transaction',
      terms: [term('ABOVE', 1e9, 5)],
    },
    {
      name: 'Apdex',
      query: 'SELECT apdex(duration, t: 0.5) FROM Transaction',
      terms: [term('BELOW', 0.01, 5)],
    },
    {
      name: 'With a time of its own',
      query: 'SELECT count(*) FROM Transaction SINCE 3 minutes ago UNTIL 1 minute ago',
      terms: [term('ABOVE', 1e9, 5)],
    },
    {
      name: 'Switched off',
      enabled: false,
      query: 'SELECT count(*) FROM Transaction',
      terms: [term('ABOVE', 0, 1)],
    },
    { name: 'Judges nothing', query: 'SELECT count(*) FROM Transaction', terms: [] },
  ];
  return kinds.map((kind, index) => ({ ...PLAIN, id: 400_011 + index, policyId: KINDS_POLICY.id, ...kind }));
}

/** Older conditions of APM, infrastructure and synthetics, which New Relic returns in the form of NRQL conditions. */
function olderConditions(): readonly SimulatedCondition[] {
  const of = (id: number, difference: Partial<SimulatedCondition>): SimulatedCondition => ({
    ...PLAIN,
    id,
    policyId: OLDER_POLICY.id,
    name: 'Web response time (High)',
    query: `${responseOf("appName LIKE '%'")} FACET appName`,
    terms: [term('ABOVE', 10_000, 5)],
    sourceProduct: 'APM',
    ...difference,
  });
  return [
    of(400_031, {}),
    of(400_032, { name: 'Web response time (High)', terms: [term('ABOVE', 20_000, 5)] }),
    of(400_033, {
      name: '',
      sourceProduct: 'SYNTHETICS',
      query: "SELECT filter(count(*), WHERE result = 'LOST') FROM SyntheticCheck FACET monitorName, locationLabel",
      terms: [term('ABOVE', 0, 5, 'AT_LEAST_ONCE')],
      signal: { ...PLAIN.signal, aggregationWindow: 600 },
    }),
  ];
}

/** Every condition of the account, first the conditions of applications. */
export function alertConditions(world: World): readonly SimulatedCondition[] {
  const ofApplications = world
    .applications()
    .flatMap((application) => [slowCondition(application) ?? [], baselineConditions(application)].flat());
  const watched = watchedApplication(world);
  const ofWatched = watched === undefined ? [] : [stoppedCondition(watched), lostCondition(watched)];
  const others = otherConditions(world.options.accountId);
  return [...ofApplications, BY_APPLICATION, ...ofWatched, ...others, ...olderConditions()];
}

export function alertPolicies(world: World): readonly SimulatedPolicy[] {
  return [...world.applications().flatMap((application) => policyOf(application) ?? []), KINDS_POLICY, OLDER_POLICY];
}

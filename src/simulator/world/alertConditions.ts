import type { World } from './world.ts';
import type { SimulatedApplication } from './worldEntities.ts';

/** The limit of a condition for the mean response time of an application. */
export interface SimulatedThreshold {
  readonly priority: 'critical' | 'warning';
  /** In seconds; more than this violates the threshold. */
  readonly above: number;
  /** Minutes in which every window violates it before an event opens, and in which none does before the event closes. */
  readonly minutes: number;
  /** True: one window that violates it opens an event. */
  readonly atOnce?: boolean;
}

/** A condition whose alert events the simulator has. */
export interface SimulatedCondition {
  readonly conditionId: number;
  readonly conditionName: string;
  readonly policyId: number;
  readonly policyName: string;
  /** True: a muting rule silences what it opens. */
  readonly isMuted?: boolean;
}

/** A condition for the response time. */
export interface ResponseCondition extends SimulatedCondition {
  /** The length of a window in minutes; a window begins every minute. */
  readonly window: number;
  readonly thresholds: readonly SimulatedThreshold[];
}

/** The policy of conditions that belong to no team. */
const ALL_APPLICATIONS = { policyId: 200_001, policyName: 'All applications' };

/** With at least this number of requests a minute, every minute has some, so the response time has no gaps. */
const STEADY = 10;

/** The threshold as a multiple of the usual response time: ordinary minutes stay below it, minutes of an incident exceed it. */
const SLOW = 1.6;

/** True if the response time of an application has a condition: every minute needs requests. */
function isJudged({ alertPolicyId, archetype }: SimulatedApplication): boolean {
  return alertPolicyId !== undefined && archetype.reporting && (archetype.web?.perMinute ?? 0) >= STEADY;
}

/** A condition of the policy of the team that an application belongs to; several policies may have one name. */
function ofTeam({ archetype }: SimulatedApplication, policyId: number, position: number, conditionName: string) {
  const policyName = `Team ${archetype.tags['team']?.[0] ?? 'nobody'}`;
  return { conditionId: policyId * 10 + position, conditionName, policyId, policyName };
}

/** The response time of all applications. */
const BY_APPLICATION: ResponseCondition = {
  ...ALL_APPLICATIONS,
  conditionId: 400_001,
  conditionName: 'Response time by application',
  window: 5,
  thresholds: [
    { priority: 'critical', above: 2, minutes: 5, atOnce: true },
    { priority: 'warning', above: 1.9, minutes: 5, atOnce: true },
  ],
};

/** The conditions for the response time of an application. */
export function responseConditions(application: SimulatedApplication): readonly ResponseCondition[] {
  const { alertPolicyId, archetype } = application;
  if (alertPolicyId === undefined || !isJudged(application)) return [BY_APPLICATION];
  const above = Number((SLOW * (archetype.web?.seconds ?? 0)).toPrecision(3));
  const slow = ofTeam(application, alertPolicyId, 1, 'Slow or failing requests');
  return [{ ...slow, window: 1, thresholds: [{ priority: 'critical', above, minutes: 3 }] }, BY_APPLICATION];
}

/** Baseline conditions, without a fixed threshold; one application in four has them. */
export function baselineConditions(application: SimulatedApplication): readonly (SimulatedCondition & {
  /** True: about the application; false: about all data of the account. */
  readonly hasEntity: boolean;
})[] {
  const { index, alertPolicyId } = application;
  if (alertPolicyId === undefined || index % 4 !== 0) return [];
  return [
    { ...ofTeam(application, alertPolicyId, 2, 'Memory grows'), hasEntity: true, isMuted: true },
    { ...ofTeam(application, alertPolicyId, 3, 'Few orders'), hasEntity: false },
  ];
}

/** Minutes of silence after which the conditions for it open an event. */
export const SILENT_MINUTES = 5;

/** The conditions for stopped requests and a lost signal, which one application has. */
export function silenceConditions(world: World, { id }: SimulatedApplication): readonly SimulatedCondition[] {
  if (world.applications().find(isJudged)?.id !== id) return [];
  return [
    { ...ALL_APPLICATIONS, conditionId: 400_002, conditionName: 'Requests stop' },
    { ...ALL_APPLICATIONS, conditionId: 400_003, conditionName: 'Signal lost' },
  ];
}

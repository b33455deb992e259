import type { Archetype } from './archetypes.ts';

/** A time during which an application is slow and fails more often than usual. */
export interface Incident {
  /** The first minute, and the first minute after the end, in minutes since 1970. */
  readonly fromMinute: number;
  readonly toMinute: number;
  /** Multiplies every response time. */
  readonly responseFactor: number;
  /** Share of failing requests during the incident, if higher than usual. */
  readonly errorRatio: number;
}

/** An incident that repeats every hour. */
export interface HourlyIncident {
  /** Index of the application. */
  readonly application: number;
  /** First minute of any occurrence, in minutes since 1970. */
  readonly fromMinute: number;
}

/**
 * The manual changes to one application or key transaction (`CHANGE` in changes.ts). Everything else follows from the
 * seed and the time.
 */
export interface Amendment {
  readonly removed?: boolean | undefined;
  readonly name?: string | undefined;
  readonly hosts_removed?: readonly string[] | undefined;
  readonly settings?: null | undefined;
  readonly application?: number | undefined;
  readonly failing?: boolean | undefined;
  /** The application stops reporting in this minute. */
  readonly silentFromMinute?: number | null | undefined;
  readonly incident?: Incident | null | undefined;
  readonly traffic?:
    | Readonly<Record<`${'requests' | 'errors' | 'background'}_per_minute` | 'response_milliseconds', number>>
    | null
    | undefined;
}

/** The properties of an application, without its load. */
export interface SimulatedApplication {
  readonly index: number;
  readonly id: number;
  readonly name: string;
  readonly archetype: Archetype;
  readonly alertPolicyId: number | undefined;
  /** First minute of any occurrence of the hourly incident. */
  readonly hourlyIncident: number | undefined;
  /** True if the seed generates occasional incidents. */
  readonly hasChanceIncidents: boolean;
  readonly amendment: Amendment;
}

export interface SimulatedHost {
  readonly index: number;
  readonly id: number;
  readonly host: string;
}

export interface SimulatedInstance {
  readonly id: number;
  /** Index among all instances of the application. */
  readonly ordinal: number;
  readonly hostId: number;
  readonly host: string;
  readonly port: number | undefined;
}

/** False for a hidden host. Its traffic still counts for the application. */
export function isShown({ amendment }: SimulatedApplication, host: string): boolean {
  return amendment.hosts_removed?.includes(host) !== true;
}

export const MINUTE = 60_000;
/** New Relic keeps data for 93 days: minute by minute for eight days, then by the hour. */
export const RETENTION_MINUTES = 93 * 1440;
export const HOURLY_AFTER_MINUTES = 8 * 1440;
/** After ten minutes without data `reporting` is false; after an hour, hosts and metric names are no longer listed. */
const REPORTING_MINUTES = 10;
const LISTED_MINUTES = 60;

/** Returns the first minute that is not complete at `now`. Only earlier minutes have data. */
export function firstIncompleteMinute(now: number): number {
  return Math.floor(now / MINUTE);
}

/** Returns the first minute without reports: Infinity while the application reports, -Infinity if it never did. */
export function silentFrom({ archetype, amendment }: SimulatedApplication): number {
  return archetype.reporting ? (amendment.silentFromMinute ?? Infinity) : -Infinity;
}

export function isReporting(application: SimulatedApplication, now: number): boolean {
  return firstIncompleteMinute(now) - silentFrom(application) < REPORTING_MINUTES;
}

export function isListed(application: SimulatedApplication, now: number): boolean {
  return firstIncompleteMinute(now) - silentFrom(application) < LISTED_MINUTES;
}

/** Returns when the application last reported, in milliseconds; undefined if it does not report. */
export function lastReportedAt(application: SimulatedApplication, now: number): number | undefined {
  if (!isReporting(application, now)) return undefined;
  return Math.min(firstIncompleteMinute(now), silentFrom(application)) * MINUTE;
}

/** An application that the key cannot see. */
export const INVISIBLE_APPLICATION_ID = 9_999_999;

/** A transaction that a user marked as important. */
export interface SimulatedKeyTransaction {
  readonly id: number;
  readonly name: string;
  readonly transactionName: string;
  /** The id of the owning application in responses. The key may be unable to see this application. */
  readonly applicationId: number;
  readonly apdexTarget: number;
  /** The source of the figures: `WebTransaction/<transaction>` of this application. */
  readonly source: { readonly application: SimulatedApplication; readonly transaction: string };
  /** `idle`: zeros; `silent`: does not report; `bare`: a body of 2014, without status fields. */
  readonly state: 'busy' | 'idle' | 'silent' | 'bare';
  readonly isFailing: boolean;
}

/** The account of an application that the key cannot see. */
const OTHER_ACCOUNT = 7_654_321;
/** The guid of a key transaction has its REST id plus this offset. */
const KEY_TRANSACTION_OFFSET = 1_777_770;

const DOMAINS = { APPLICATION: 'APM', KEY_TRANSACTION: 'EXT', SERVICE_LEVEL: 'EXT', MONITOR: 'SYNTH' };

function paddedGuid(account: number, type: keyof typeof DOMAINS, id: number): string {
  const guidId = type === 'KEY_TRANSACTION' ? id + KEY_TRANSACTION_OFFSET : id;
  return Buffer.from(`${account}|${DOMAINS[type]}|${type}|${guidId}`).toString('base64');
}

export const unpadded = (guid: string): string => guid.replace(/(?<!=)=+$/, '');

/** Returns the guid of an entity: account, domain, type and id, in base64 without padding. */
export function guidOf(account: number, type: keyof typeof DOMAINS, id: number): string {
  return unpadded(paddedGuid(account, type, id));
}

/** Returns the guid of the application that owns a key transaction, sometimes with padding, sometimes without. */
export function owningApplicationGuid(account: number, key: SimulatedKeyTransaction): string {
  const owner = key.applicationId === INVISIBLE_APPLICATION_ID ? OTHER_ACCOUNT : account;
  const guid = paddedGuid(owner, 'APPLICATION', key.applicationId);
  return key.id % 2 === 0 ? guid : unpadded(guid);
}

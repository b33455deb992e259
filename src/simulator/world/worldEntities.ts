import { type Archetype, ARCHETYPES } from './archetypes.ts';

/** A time during which an application is slow and fails more often than usual. */
export interface Incident {
  /** First minute, and the first minute after it, counted from 1970. */
  readonly fromMinute: number;
  readonly toMinute: number;
  /** Multiplies every response time. */
  readonly responseFactor: number;
  /** Share of requests that fail while it lasts, if more than usual. */
  readonly errorRatio: number;
}

/**
 * What was changed about one application, or key transaction, by hand; the rest of it stays a function of seed and time. The words
 * are those of the control endpoint (docs/simulator.md).
 */
export interface Amendment {
  readonly removed?: boolean | undefined;
  readonly name?: string | undefined;
  /** Hosts that are not listed; what they did still counts for the application. */
  readonly hosts_removed?: readonly string[] | undefined;
  readonly settings?: null | undefined;
  /** Of a key transaction: the id of another application that it belongs to. */
  readonly application?: number | undefined;
  /** Of a key transaction: NerdGraph cannot say what it cannot leave out. */
  readonly failing?: boolean | undefined;
  /** Nothing is reported from this minute on. */
  readonly silentFromMinute?: number | null | undefined;
  readonly incidents?: readonly Incident[] | null | undefined;
  /** Exact traffic in every minute, in place of the generated one. */
  readonly traffic?:
    | {
        readonly requests_per_minute: number;
        readonly response_milliseconds: number;
        readonly errors_per_minute: number;
        readonly background_per_minute: number;
      }
    | null
    | undefined;
}

/** Ids are arithmetic, so that each is found without a table and stays the same when the world grows. */
const FIRST_APPLICATION_ID = 1_000_001;
const FIRST_HOST_ID = 100_000_001;
const FIRST_ALERT_POLICY_ID = 300_001;
export const MAX_HOSTS = 10_000;
const MAX_INSTANCES = 100;

/** One application: what it is, not how it does. */
export interface SimulatedApplication {
  readonly index: number;
  readonly id: number;
  readonly name: string;
  readonly archetype: Archetype;
  readonly alertPolicyId: number | undefined;
  readonly amendment: Amendment;
}

export interface SimulatedHost {
  readonly index: number;
  readonly id: number;
  readonly host: string;
}

export interface SimulatedInstance {
  readonly id: number;
  /** Its place among all instances of the application. */
  readonly ordinal: number;
  readonly hostId: number;
  readonly host: string;
  readonly port: number | undefined;
}

const NO_AMENDMENT: Amendment = {};

/** The ids of so many applications, in the order of the list. */
export function applicationIds(applications: number): readonly number[] {
  return Array.from({ length: applications }, (_, index) => FIRST_APPLICATION_ID + index);
}

/** The application of an id; undefined beyond the so many that there are. */
export function identify(
  id: number,
  applications: number,
  amendments: ReadonlyMap<number, Amendment>,
): SimulatedApplication | undefined {
  const index = id - FIRST_APPLICATION_ID;
  const kind = ARCHETYPES[index % ARCHETYPES.length];
  if (!Number.isInteger(index) || index < 0 || index >= applications || kind === undefined) return undefined;
  const round = Math.floor(index / ARCHETYPES.length);
  const amendment = amendments.get(id) ?? NO_AMENDMENT;
  return {
    index,
    id,
    name: amendment.name ?? (round === 0 ? kind.name : `${kind.name} ${round + 1}`),
    archetype: kind,
    alertPolicyId: kind.alertPolicy ? FIRST_ALERT_POLICY_ID + index : undefined,
    amendment,
  };
}

function hostName(application: SimulatedApplication, index: number): string {
  const slug = application.archetype.name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  const number = application.archetype.hostsShareOneName ? 1 : index + 1;
  return `${slug}-${application.index + 1}-${String(number).padStart(2, '0')}`;
}

export function hostsOf(application: SimulatedApplication, hosts: number): readonly SimulatedHost[] {
  return Array.from({ length: hosts }, (_, index) => ({
    index,
    id: FIRST_HOST_ID + application.index * MAX_HOSTS + index,
    host: hostName(application, index),
  }));
}

export function instancesOf(
  application: SimulatedApplication,
  hosts: readonly SimulatedHost[],
): readonly SimulatedInstance[] {
  const { instancesPerHost, port } = application.archetype;
  return hosts.flatMap((host) =>
    Array.from({ length: instancesPerHost }, (_, place) => ({
      id: host.id * MAX_INSTANCES + place,
      ordinal: host.index * instancesPerHost + place,
      hostId: host.id,
      host: host.host,
      port: port === undefined || port === 0 ? port : port + place,
    })),
  );
}

/** Whether a host of this name is shown; what hidden ones did still counts for the application. */
export function isShown({ amendment }: SimulatedApplication, host: string): boolean {
  return amendment.hosts_removed?.includes(host) !== true;
}

export const MINUTE = 60_000;
/** `reporting` turns false after ten minutes without data; id lists show what reported in the last hour. */
const REPORTING_MINUTES = 10;
const LISTED_MINUTES = 60;

/** The first minute that is not complete at `now`: data exist for the minutes before it. */
export function firstIncompleteMinute(now: number): number {
  return Math.floor(now / MINUTE);
}

/** The minute after the last one that the application reported, or undefined when it never did. */
function endOfReports(application: SimulatedApplication, now: number): number | undefined {
  if (!application.archetype.reporting) return undefined;
  return Math.min(firstIncompleteMinute(now), application.amendment.silentFromMinute ?? Infinity);
}

function reportedWithin(application: SimulatedApplication, now: number, minutes: number): boolean {
  const end = endOfReports(application, now);
  return end !== undefined && firstIncompleteMinute(now) - end < minutes;
}

export function isReporting(application: SimulatedApplication, now: number): boolean {
  return reportedWithin(application, now, REPORTING_MINUTES);
}

export function isListed(application: SimulatedApplication, now: number): boolean {
  return reportedWithin(application, now, LISTED_MINUTES);
}

/** When the application last reported, in milliseconds; undefined when it does not report. */
export function lastReportedAt(application: SimulatedApplication, now: number): number | undefined {
  const end = endOfReports(application, now);
  return end === undefined || !isReporting(application, now) ? undefined : end * MINUTE;
}

const FIRST_KEY_TRANSACTION_ID = 5_000_001;
/** An application of the account that the key cannot see. */
const INVISIBLE_APPLICATION_ID = 9_999_999;

/** A transaction that somebody marked as important. */
export interface SimulatedKeyTransaction {
  readonly id: number;
  readonly name: string;
  readonly transactionName: string;
  /** The owning application as the body names it. */
  readonly applicationId: number;
  readonly apdexTarget: number;
  /** Where its figures come from: `WebTransaction/<transaction>` of this application. */
  readonly source: { readonly application: SimulatedApplication; readonly transaction: string };
  /** `idle`: zeros; `silent`: does not report; `bare`: a body of 2014, without status fields. */
  readonly state: 'busy' | 'idle' | 'silent' | 'bare';
  readonly isFailing: boolean;
}

const SPECIAL_STATES: Readonly<Record<number, SimulatedKeyTransaction['state']>> = {
  1: 'idle',
  3: 'bare',
  4: 'silent',
};
const INVISIBLE_INDEX = 2;

/**
 * The key transactions of a world, without those of removed applications. The first busy ones follow the transactions of the web applications in turn; the
 * second is idle, the third belongs to an invisible application, the fourth is bare, the fifth silent.
 */
export function keyTransactions(
  count: number,
  applications: number,
  amendments: ReadonlyMap<number, Amendment>,
): readonly SimulatedKeyTransaction[] {
  const parents = applicationIds(applications).flatMap((id) => {
    const application = identify(id, applications, amendments);
    const kind = application?.archetype;
    if (application === undefined || kind?.reporting !== true || (kind.web?.perMinute ?? 0) === 0) return [];
    return kind.transactions.slice(-1).map(({ name, slowness }) => ({
      application,
      named: identify(id, applications, new Map())?.name ?? '',
      transaction: name,
      apdexTarget: kind.apdexTarget * slowness,
    }));
  });
  return Array.from({ length: count }, (_, index) => index).flatMap((index): readonly SimulatedKeyTransaction[] => {
    const parent = parents[index % parents.length];
    if (parent === undefined) return [];
    const { transaction, apdexTarget, application, named } = parent;
    const name = `${named}: ${transaction.split('/').slice(1).join('/')}`;
    const id = FIRST_KEY_TRANSACTION_ID + index;
    const amendment = amendments.get(id) ?? NO_AMENDMENT;
    if (amendment.removed === true || application.amendment.removed === true) return [];
    const numbered = index < parents.length ? name : `${name} (${Math.floor(index / parents.length) + 1})`;
    return [
      {
        id,
        name: amendment.name ?? numbered,
        transactionName: `WebTransaction/${transaction}`,
        applicationId: amendment.application ?? (index === INVISIBLE_INDEX ? INVISIBLE_APPLICATION_ID : application.id),
        apdexTarget,
        source: { application, transaction },
        state: SPECIAL_STATES[index] ?? 'busy',
        isFailing: amendment.failing ?? false,
      },
    ];
  });
}

/** The account of an application that the key cannot see. */
const OTHER_ACCOUNT = 7_654_321;
/** In the guid, a key transaction has another id than the one that the REST interface uses. */
const KEY_TRANSACTION_OFFSET = 1_777_770;

const DOMAINS = { APPLICATION: 'APM', KEY_TRANSACTION: 'EXT', SERVICE_LEVEL: 'EXT', MONITOR: 'SYNTH' };

function paddedGuid(account: number, type: keyof typeof DOMAINS, id: number): string {
  const own = type === 'KEY_TRANSACTION' ? id + KEY_TRANSACTION_OFFSET : id;
  return Buffer.from(`${account}|${DOMAINS[type]}|${type}|${own}`).toString('base64');
}

export const unpadded = (guid: string): string => guid.replace(/(?<!=)=+$/, '');

/** The service's name of an entity: account, domain, type and its own id, in base64 without the padding. */
export function guidOf(account: number, type: keyof typeof DOMAINS, id: number): string {
  return unpadded(paddedGuid(account, type, id));
}

/** The guid that a key transaction names as its application's: of some with the padding, of some without. */
export function owningApplicationGuid(account: number, key: SimulatedKeyTransaction): string {
  const owner = key.applicationId === INVISIBLE_APPLICATION_ID ? OTHER_ACCOUNT : account;
  const guid = paddedGuid(owner, 'APPLICATION', key.applicationId);
  return key.id % 2 === 0 ? guid : unpadded(guid);
}

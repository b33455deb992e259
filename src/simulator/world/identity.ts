import type { Amendment, Amendments } from './amendment.ts';
import type { Archetype } from './archetype.ts';
import { ARCHETYPES } from './archetypes.ts';

/** Ids are arithmetic, so that each is found without a table and stays the same when the world grows. */
const FIRST_APPLICATION_ID = 1_000_001;
const FIRST_HOST_ID = 100_000_001;
const FIRST_ALERT_POLICY_ID = 300_001;
export const MAX_HOSTS = 10_000;
const MAX_INSTANCES = 100;

/** One application: what it is, not how it does. */
export interface ApplicationIdentity {
  readonly index: number;
  readonly id: number;
  readonly name: string;
  readonly archetype: Archetype;
  readonly alertPolicyId: number | undefined;
  readonly amendment: Amendment;
}

export interface HostIdentity {
  readonly index: number;
  readonly id: number;
  readonly host: string;
}

export interface InstanceIdentity {
  readonly id: number;
  /** Its place among all instances of the application. */
  readonly ordinal: number;
  readonly hostId: number;
  readonly host: string;
  readonly port: number | undefined;
}

const NO_AMENDMENT: Amendment = {};

export function applicationId(index: number): number {
  return FIRST_APPLICATION_ID + index;
}

/** The application at this place, or undefined beyond the end. */
export function identify(index: number, applications: number, amendments: Amendments): ApplicationIdentity | undefined {
  const kind = ARCHETYPES[index % ARCHETYPES.length];
  if (!Number.isInteger(index) || index < 0 || index >= applications || kind === undefined) return undefined;
  const round = Math.floor(index / ARCHETYPES.length);
  const id = applicationId(index);
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

export function indexOfApplication(id: number): number {
  return id - FIRST_APPLICATION_ID;
}

function hostName(application: ApplicationIdentity, index: number): string {
  const slug = application.archetype.name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  const number = application.archetype.hostsShareOneName ? 1 : index + 1;
  return `${slug}-${application.index + 1}-${String(number).padStart(2, '0')}`;
}

export function hostsOf(application: ApplicationIdentity, hosts: number): readonly HostIdentity[] {
  return Array.from({ length: hosts }, (_, index) => ({
    index,
    id: FIRST_HOST_ID + application.index * MAX_HOSTS + index,
    host: hostName(application, index),
  }));
}

export function instancesOf(
  application: ApplicationIdentity,
  hosts: readonly HostIdentity[],
): readonly InstanceIdentity[] {
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

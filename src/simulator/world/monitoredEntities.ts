import type { SimulatedApplication } from './worldEntities.ts';
import type { World } from './world.ts';

/** The definition of a golden metric of an entity. */
interface GoldenMetric {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly definition: {
    readonly select: string;
    readonly from: string;
    readonly where: string | null;
    readonly eventId: string;
    readonly eventObjectId: 'ENTITY_GUIDS' | 'DOMAIN_IDS';
    readonly facet: string;
  };
}

/** An entity that is neither an application nor a key transaction. */
export interface MonitoredEntity {
  readonly typename: string;
  readonly domain: string;
  readonly type: string;
  readonly guid: string;
  readonly domainId: string;
  readonly name: string;
  /** The application that its figures come from; the entity reports as long as the application does. */
  readonly application: SimulatedApplication;
  readonly tags: Readonly<Record<string, string | readonly string[]>>;
  readonly metrics: readonly GoldenMetric[];
}

const BY_GUID = { eventId: 'entity.guid', eventObjectId: 'ENTITY_GUIDS', facet: 'entity.name' } as const;
const OF_EVENTS = { eventId: 'entityGuid', eventObjectId: 'ENTITY_GUIDS', facet: 'entityName', where: null } as const;

/** The metrics of services that report through OpenTelemetry, and of hosts that a collector watches. */
export const SERVICE_DURATION = 'apm.service.transaction.duration';
export const SERVICE_ERRORS = 'apm.service.error.count';
export const HOST_GAUGES = ['system.cpu.utilization', 'system.memory.utilization', 'system.filesystem.utilization'];

const SERVICE_METRICS: readonly GoldenMetric[] = [
  {
    ...{ name: 'throughput', title: 'Throughput', unit: 'REQUESTS_PER_MINUTE' },
    definition: { ...BY_GUID, select: `rate(count(${SERVICE_DURATION}), 1 minute)`, from: 'Metric', where: null },
  },
  {
    ...{ name: 'errorRate', title: 'Error rate', unit: 'PERCENTAGE' },
    definition: {
      ...BY_GUID,
      select: `sum(${SERVICE_ERRORS}) * 100 / count(${SERVICE_DURATION})`,
      ...{ from: 'Metric', where: null },
    },
  },
  {
    ...{ name: 'responseTimeMs', title: 'Response time', unit: 'MS' },
    definition: {
      ...BY_GUID,
      select: `average(${SERVICE_DURATION}) * 1000 AS 'Response time (ms)'`,
      ...{ from: 'Metric', where: null },
    },
  },
];

const BROWSER_METRICS: readonly GoldenMetric[] = [
  {
    ...{ name: 'throughputPpm', title: 'Throughput (ppm)', unit: 'PAGES_PER_SECOND' },
    definition: { ...OF_EVENTS, select: 'rate(count(*), 1 minute)', from: 'PageView' },
  },
  {
    name: 'largestContentfulPaint75PercentileS',
    ...{ title: 'Largest contentful paint (75 percentile) (s)', unit: 'SECONDS' },
    definition: { ...OF_EVENTS, select: 'percentile(largestContentfulPaint, 75)', from: 'PageViewTiming' },
  },
  {
    ...{ name: 'errors', title: 'Errors', unit: 'COUNT' },
    definition: {
      ...{ select: "count(*) AS 'Errors'", from: 'JavaScriptError', where: null },
      ...{ eventId: 'appId', eventObjectId: 'DOMAIN_IDS', facet: 'appName' },
    },
  },
  {
    ...{ name: 'pageLoadSeconds', title: 'Pageload time (s)', unit: 'SECONDS' },
    definition: { ...OF_EVENTS, select: 'average(duration)', from: 'PageView' },
  },
];

/** The golden metrics of a host, one for each definition, in this order. */
function hostMetrics(definitions: readonly GoldenMetric['definition'][]): readonly GoldenMetric[] {
  const descriptions = [
    { name: 'cpuUsage', title: 'CPU usage (%)', unit: 'PERCENTAGE' },
    { name: 'memoryUsage', title: 'Memory usage (%)', unit: 'PERCENTAGE' },
    { name: 'storageUsage', title: 'Storage usage (%)', unit: 'PERCENTAGE' },
    { name: 'networkTrafficTx', title: 'Network transmit traffic (bytes/s)', unit: 'BYTES_PER_SECOND' },
  ];
  return definitions.flatMap((definition, index) => {
    const description = descriptions[index];
    return description === undefined ? [] : [{ ...description, definition }];
  });
}

/** New Relic's agent sends samples; an OpenTelemetry collector sends metrics, by state. */
const HOST_METRICS = {
  agent: hostMetrics([
    { ...OF_EVENTS, select: 'average(cpuPercent)', from: 'SystemSample' },
    { ...OF_EVENTS, select: 'average(memoryUsedPercent)', from: 'SystemSample' },
    { ...OF_EVENTS, select: 'average(diskUsedPercent)', from: 'StorageSample' },
    { ...OF_EVENTS, select: 'average(transmitBytesPerSecond)', from: 'NetworkSample' },
  ]),
  collector: hostMetrics([
    { ...BY_GUID, select: 'average(system.cpu.utilization) * 100', from: 'Metric', where: "state = 'used'" },
    { ...BY_GUID, select: 'average(system.memory.utilization) * 100', from: 'Metric', where: "state = 'used'" },
    { ...BY_GUID, select: 'average(system.filesystem.utilization) * 100', from: 'Metric', where: "type != 'squashfs'" },
  ]),
};

/** The ids of browser applications and services are the id of the application plus an offset, so that each is unique. */
const BROWSER_OFFSET = 20_000_000;
const SERVICE_OFFSET = 40_000_000;

function identity(account: number, domain: string, type: string, id: number) {
  const guid = Buffer.from(`${account}|${domain}|${type}|${id}`).toString('base64').replaceAll('=', '');
  return { guid, domainId: String(id) };
}

/** The guid and id of the OpenTelemetry service that reports for an application. */
export function serviceIdentity(account: number, { id }: SimulatedApplication) {
  return identity(account, 'EXT', 'SERVICE', SERVICE_OFFSET + id);
}

/** The guid and id of the browser application that has the page views of an application. */
export function browserIdentity(account: number, { id }: SimulatedApplication) {
  return identity(account, 'BROWSER', 'APPLICATION', BROWSER_OFFSET + id);
}

export function hostIdentity(account: number, hostId: number) {
  return identity(account, 'INFRA', 'NA', hostId);
}

/** True if New Relic's agent watches the hosts of an application; otherwise an OpenTelemetry collector does. */
export function hasHostAgent({ index, archetype }: SimulatedApplication): boolean {
  return index % 2 === 0 || archetype.hostsShareOneName;
}

/** The entities of one domain, also when they do not report, in the order of their applications. */
export function monitoredEntities(world: World, now: number, domain: string): readonly MonitoredEntity[] {
  const { accountId } = world.options;
  return world.applications().flatMap((application): readonly MonitoredEntity[] => {
    const { archetype, name } = application;
    const common = { application, tags: archetype.tags };
    switch (domain) {
      case 'EXT':
        return [
          {
            ...common,
            ...serviceIdentity(accountId, application),
            ...{ typename: 'ThirdPartyServiceEntityOutline', domain, type: 'SERVICE', metrics: SERVICE_METRICS },
            name: name.toLowerCase().replaceAll(' ', '-'),
            tags: { ...archetype.tags, 'instrumentation.provider': 'opentelemetry' },
          },
        ];
      case 'BROWSER':
        // An application with browser monitoring switched on is an entity even when no page views arrive.
        if (archetype.browser === undefined && !archetype.browserEnabled) return [];
        return [
          {
            ...common,
            ...browserIdentity(accountId, application),
            ...{ typename: 'BrowserApplicationEntityOutline', domain, type: 'APPLICATION', metrics: BROWSER_METRICS },
            name,
          },
        ];
      case 'INFRA': {
        const metrics = HOST_METRICS[hasHostAgent(application) ? 'agent' : 'collector'];
        return world.hosts(application, now).map(({ id, host }) => ({
          ...common,
          ...hostIdentity(accountId, id),
          ...{ typename: 'InfrastructureHostEntityOutline', domain, type: 'HOST', metrics },
          name: host,
        }));
      }
      default:
        return [];
    }
  });
}

export const MONITORED_DOMAINS = ['EXT', 'BROWSER', 'INFRA'] as const;

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
/** The requests of a service that reports through Micrometer, in milliseconds, by exception. */
export const MICROMETER_REQUESTS = 'http.server.requests';
export const HOST_GAUGES = ['system.cpu.utilization', 'system.memory.utilization', 'system.filesystem.utilization'];

/** The texts of New Relic's public repository of entity definitions, here and below. */
const SERVICE_METRICS = {
  opentelemetry: serviceMetrics([
    `rate(count(${SERVICE_DURATION}), 1 minute)`,
    `sum(${SERVICE_ERRORS}) * 100 / count(${SERVICE_DURATION})`,
    `average(convert(${SERVICE_DURATION}, unit OR 's', 'ms'))`,
  ]),
  micrometer: serviceMetrics([
    `rate(count(${MICROMETER_REQUESTS}), 1 minute) as 'count'`,
    `(filter(count(${MICROMETER_REQUESTS}), where exception IS NOT NULL and exception != 'none') * 100) / count(${MICROMETER_REQUESTS})`,
    `average(${MICROMETER_REQUESTS})`,
  ]),
};

/** The golden metrics of a service, one for each of three columns. */
function serviceMetrics(selects: readonly [string, string, string]): readonly GoldenMetric[] {
  const descriptions = [
    { name: 'throughput', title: 'Throughput', unit: 'REQUESTS_PER_MINUTE' },
    { name: 'errorRate', title: 'Error rate', unit: 'PERCENTAGE' },
    { name: 'responseTimeMs', title: 'Response time', unit: 'MS' },
  ];
  return descriptions.map((description, index) => {
    return { ...description, definition: { ...BY_GUID, select: selects[index] ?? '', from: 'Metric', where: null } };
  });
}

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
      ...{ select: 'count(*)', from: 'JavaScriptError', where: null },
      // The public text names guids; New Relic's older definitions named these ids, which readers must know, too.
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
    { ...BY_GUID, select: 'average(1 - system.cpu.utilization) * 100', from: 'Metric', where: "state = 'idle'" },
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

/** The program through which the service of an application reports: every tenth has another one. */
export function serviceProvider({ index }: SimulatedApplication): keyof typeof SERVICE_METRICS {
  return index % 10 === 9 ? 'micrometer' : 'opentelemetry';
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
            ...{ typename: 'ThirdPartyServiceEntityOutline', domain, type: 'SERVICE' },
            metrics: SERVICE_METRICS[serviceProvider(application)],
            name: name.toLowerCase().replaceAll(' ', '-'),
            tags: { ...archetype.tags, 'instrumentation.provider': serviceProvider(application) },
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

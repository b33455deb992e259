import type { SimulatedApplication } from './worldEntities.ts';
import type { World } from './world.ts';

/** An entity that is neither an application nor a key transaction. */
export interface MonitoredEntity {
  readonly typename: string;
  readonly domain: string;
  readonly type: string;
  readonly guid: string;
  readonly domainId: string;
  readonly name: string;
  /** The source of the figures. The entity reports as long as this application does. */
  readonly application: SimulatedApplication;
  readonly tags: Readonly<Record<string, string | readonly string[]>>;
  readonly metrics: readonly ReturnType<typeof defineGolden>[];
}

interface GoldenDefinition extends Readonly<Record<'select' | 'from' | 'eventId' | 'facet', string>> {
  readonly where: string | null;
  readonly eventObjectId: 'ENTITY_GUIDS' | 'DOMAIN_IDS';
}

/** Defines a golden metric, with the texts of New Relic's public repository of entity definitions. */
function defineGolden(
  [name, title, unit]: readonly [name: string, title: string, unit: string],
  definition: GoldenDefinition,
) {
  return { name, title, unit, definition };
}

const selectMetrics = (select: string, where: string | null = null) =>
  ({
    select,
    from: 'Metric',
    where,
    eventId: 'entity.guid',
    eventObjectId: 'ENTITY_GUIDS',
    facet: 'entity.name',
  }) as const;
const selectEvents = (select: string, from: string) =>
  ({ select, from, where: null, eventId: 'entityGuid', eventObjectId: 'ENTITY_GUIDS', facet: 'entityName' }) as const;

/** The metrics of services that report through OpenTelemetry, and of hosts that a collector watches. */
export const SERVICE_DURATION = 'apm.service.transaction.duration';
export const SERVICE_ERRORS = 'apm.service.error.count';
/** The requests of a service that reports through Micrometer, in milliseconds, by exception. */
export const MICROMETER_REQUESTS = 'http.server.requests';
export const HOST_GAUGES = ['system.cpu.utilization', 'system.memory.utilization', 'system.filesystem.utilization'];

const THROUGHPUT = ['throughput', 'Throughput', 'REQUESTS_PER_MINUTE'] as const;
const ERROR_RATE = ['errorRate', 'Error rate', 'PERCENTAGE'] as const;
const RESPONSE_TIME = ['responseTimeMs', 'Response time', 'MS'] as const;

const SERVICE_METRICS = {
  opentelemetry: [
    defineGolden(THROUGHPUT, selectMetrics(`rate(count(${SERVICE_DURATION}), 1 minute)`)),
    defineGolden(ERROR_RATE, selectMetrics(`sum(${SERVICE_ERRORS}) * 100 / count(${SERVICE_DURATION})`)),
    defineGolden(RESPONSE_TIME, selectMetrics(`average(convert(${SERVICE_DURATION}, unit OR 's', 'ms'))`)),
  ],
  micrometer: [
    defineGolden(THROUGHPUT, selectMetrics(`rate(count(${MICROMETER_REQUESTS}), 1 minute) as 'count'`)),
    defineGolden(
      ERROR_RATE,
      selectMetrics(
        `(filter(count(${MICROMETER_REQUESTS}), where exception IS NOT NULL and exception != 'none') * 100) / count(${MICROMETER_REQUESTS})`,
      ),
    ),
    defineGolden(RESPONSE_TIME, selectMetrics(`average(${MICROMETER_REQUESTS})`)),
  ],
};

const BROWSER_METRICS = [
  defineGolden(
    ['throughputPpm', 'Throughput (ppm)', 'PAGES_PER_SECOND'],
    selectEvents('rate(count(*), 1 minute)', 'PageView'),
  ),
  defineGolden(
    ['largestContentfulPaint75PercentileS', 'Largest contentful paint (75 percentile) (s)', 'SECONDS'],
    selectEvents('percentile(largestContentfulPaint, 75)', 'PageViewTiming'),
  ),
  defineGolden(['errors', 'Errors', 'COUNT'], {
    ...selectEvents('count(*)', 'JavaScriptError'),
    // The public definition selects by guid. Older definitions select by `appId`, and readers must know both.
    ...{ eventId: 'appId', eventObjectId: 'DOMAIN_IDS', facet: 'appName' },
  }),
  defineGolden(['pageLoadSeconds', 'Pageload time (s)', 'SECONDS'], selectEvents('average(duration)', 'PageView')),
];

const CPU = ['cpuUsage', 'CPU usage (%)', 'PERCENTAGE'] as const;
const MEMORY = ['memoryUsage', 'Memory usage (%)', 'PERCENTAGE'] as const;
const STORAGE = ['storageUsage', 'Storage usage (%)', 'PERCENTAGE'] as const;
const NETWORK = ['networkTrafficTx', 'Network transmit traffic (bytes/s)', 'BYTES_PER_SECOND'] as const;

/** New Relic's agent sends samples; an OpenTelemetry collector sends metrics, by state. */
const HOST_METRICS = {
  agent: [
    defineGolden(CPU, selectEvents('average(cpuPercent)', 'SystemSample')),
    defineGolden(MEMORY, selectEvents('average(memoryUsedPercent)', 'SystemSample')),
    defineGolden(STORAGE, selectEvents('average(diskUsedPercent)', 'StorageSample')),
    defineGolden(NETWORK, selectEvents('average(transmitBytesPerSecond)', 'NetworkSample')),
  ],
  collector: [
    defineGolden(CPU, selectMetrics('average(1 - system.cpu.utilization) * 100', "state = 'idle'")),
    defineGolden(MEMORY, selectMetrics('average(system.memory.utilization) * 100', "state = 'used'")),
    defineGolden(STORAGE, selectMetrics('average(system.filesystem.utilization) * 100', "type != 'squashfs'")),
  ],
};

/** Offsets from the id of the application, which make the ids of browser applications and services unique. */
const BROWSER_OFFSET = 20_000_000;
const SERVICE_OFFSET = 40_000_000;

function identity(account: number, domain: string, type: string, id: number) {
  const guid = Buffer.from(`${account}|${domain}|${type}|${id}`).toString('base64').replaceAll('=', '');
  return { guid, domainId: String(id) };
}

/** Returns guid and id of the OpenTelemetry service that reports for an application. */
export function serviceIdentity(account: number, { id }: SimulatedApplication) {
  return identity(account, 'EXT', 'SERVICE', SERVICE_OFFSET + id);
}

/** Returns guid and id of the browser application that has the page views of an application. */
export function browserIdentity(account: number, { id }: SimulatedApplication) {
  return identity(account, 'BROWSER', 'APPLICATION', BROWSER_OFFSET + id);
}

export function hostIdentity(account: number, hostId: number) {
  return identity(account, 'INFRA', 'NA', hostId);
}

/** Returns the library through which the service of an application reports: every tenth uses Micrometer. */
export function serviceProvider({ index }: SimulatedApplication): keyof typeof SERVICE_METRICS {
  return index % 10 === 9 ? 'micrometer' : 'opentelemetry';
}

/** True if New Relic's agent watches the hosts of an application; otherwise an OpenTelemetry collector does so. */
export function hasHostAgent({ index, archetype }: SimulatedApplication): boolean {
  return index % 2 === 0 || archetype.hostsShareOneName;
}

/** Lists the entities of one domain, also silent ones, in the order of their applications. */
export function monitoredEntities(
  world: World,
  now: number,
  domain: (typeof MONITORED_DOMAINS)[number],
): readonly MonitoredEntity[] {
  const { accountId } = world.options;
  return world.applications().flatMap((application): readonly MonitoredEntity[] => {
    const { archetype, name } = application;
    const common = { application, domain, tags: archetype.tags };
    if (domain === 'EXT') {
      const provider = serviceProvider(application);
      const service = { ...common, ...serviceIdentity(accountId, application), metrics: SERVICE_METRICS[provider] };
      return [
        {
          ...{ ...service, typename: 'ThirdPartyServiceEntityOutline', type: 'SERVICE' },
          name: name.toLowerCase().replaceAll(' ', '-'),
          tags: { ...archetype.tags, 'instrumentation.provider': provider },
        },
      ];
    }
    if (domain === 'BROWSER') {
      // Browser monitoring without page views still makes an entity.
      if (archetype.browser === undefined && !archetype.browserEnabled) return [];
      const browser = { ...common, ...browserIdentity(accountId, application), metrics: BROWSER_METRICS };
      return [{ ...browser, typename: 'BrowserApplicationEntityOutline', type: 'APPLICATION', name }];
    }
    const metrics = HOST_METRICS[hasHostAgent(application) ? 'agent' : 'collector'];
    return world.hosts(application, now).map(({ id, host }) => {
      const identified = { ...common, ...hostIdentity(accountId, id), metrics };
      return { ...identified, typename: 'InfrastructureHostEntityOutline', type: 'HOST', name: host };
    });
  });
}

export const MONITORED_DOMAINS = ['EXT', 'BROWSER', 'INFRA'] as const;

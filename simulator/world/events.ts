import { ACCOUNT_SOURCES, type Attributes, type EventSearch, minutesOf, type StoredEvent } from './accountEvents.ts';
import type { InstanceMinute } from './traffic.ts';
import { alertEvents, LONGEST_EVENT_MINUTES } from './alertEvents.ts';
import { applicationMinute, fraction, hash, sequence } from './traffic.ts';
import type { SimulatedApplication } from './worldEntities.ts';
import { guidOf, MINUTE } from './worldEntities.ts';
import { browserIdentity, hasHostAgent, hostIdentity } from './monitoredEntities.ts';

/** The events of one type of an application; some may lie outside of the requested time. */
type Source = (search: EventSearch, application: SimulatedApplication) => Generator<StoredEvent, void, undefined>;

/** Every event of a type in the time of a search, of applications that report. An unknown type has no events. */
export function* findEvents(type: string, search: EventSearch): ReturnType<Source> {
  const reporting = search.world.applications().filter(({ archetype }) => archetype.reporting);
  const ofApplications = reporting.map((application) => SOURCES[type]?.(search, application));
  for (const events of [ACCOUNT_SOURCES[type]?.(search), ...ofApplications]) {
    for (const event of events ?? []) {
      if (event.timestamp >= search.since && event.timestamp < search.until) yield event;
    }
  }
}

const SOURCES: Readonly<Record<string, Source>> = {
  Transaction: sampled(
    (done) => done.requests + done.background,
    (sample) => (sample.index < sample.done.requests ? webTransaction(sample) : backgroundTransaction(sample)),
  ),
  TransactionError: sampled(
    (done) => done.errors,
    ({ application: { archetype }, random }) => ({
      transactionName: `WebTransaction/${pick(archetype.transactions, random())?.name ?? 'none'}`,
      'error.class': random() < 0.7 ? 'TimeoutError' : 'ValidationError',
    }),
  ),
  PageView: sampled(
    (done) => done.pageViews,
    ({ done, random }) => ({ duration: done.pageSeconds * around(random()) }),
    browserApplication,
  ),
  PageViewTiming: sampled(
    (done) => done.pageViews * 3,
    ({ done, random, index }) => timing(done, index % 3, random()),
    browserApplication,
  ),
  JavaScriptError: sampled(
    (done) => Math.ceil(done.pageViews / 50),
    () => ({}),
    browserApplication,
  ),
  SystemSample: hostSamples(({ done }) => ({
    cpuPercent: Math.min(100, (100 * done.cpuSeconds) / 60),
    memoryUsedPercent: done.memoryMegabytes / 8,
  })),
  StorageSample: hostSamples(({ random }) => ({ diskUsedPercent: 40 + 20 * random() })),
  NetworkSample: hostSamples(({ done }) => ({ transmitBytesPerSecond: 400 + 250 * done.requests })),
  SyntheticCheck: syntheticChecks,
  ServiceLevelSnapshot: serviceLevels,
  NrAiIncident: alerts,
  Deployment: (search, application) => deployments(search, application, false),
  ChangeTrackingEvent: (search, application) => deployments(search, application, true),
};

/** The most events that an agent sends of an instance in a minute. Counts of events thus count samples, not requests. */
const SAMPLES = 6;

/** One of the events that an instance samples in a minute: its index, and a random sequence of its own. */
interface SampledEvent {
  readonly done: InstanceMinute;
  readonly application: SimulatedApplication;
  readonly index: number;
  readonly random: () => number;
}

/**
 * A source of events that each instance samples in each minute.
 *
 * @param count how many of them happen in the minute; at most `SAMPLES` are sent
 * @param attributes those of one event
 * @param owner the attributes that all events of an application share, and that name the entity they belong to
 */
function sampled(
  count: (done: InstanceMinute) => number,
  attributes: (sample: SampledEvent) => Attributes,
  owner: (application: SimulatedApplication, account: number) => Attributes = ofApplication,
): Source {
  return function* ({ world, since, until, mayMatch }, application) {
    const whose = owner(application, world.options.accountId);
    if (!mayMatch(whose)) return;
    const [from, to] = [Math.floor(since / MINUTE), Math.ceil(until / MINUTE)];
    for (const { done, instance, minute } of world.minutes(world.whole(application), from, to)) {
      for (let index = 0; index < Math.min(SAMPLES, count(done)); index += 1) {
        const random = sequence(hash(done.entropy, index, 31));
        const timestamp = minute * MINUTE + Math.floor(random() * MINUTE);
        // Spreads stand last, because V8 is slow at object literals with properties after them.
        yield { host: instance.host, timestamp, ...whose, ...attributes({ done, application, index, random }) };
      }
    }
  };
}

const PLANS = ['free', 'basic', 'pro'];
const REGIONS = ['eu', 'us', 'ap'];

function pick<Item>(items: readonly Item[], chance: number): Item | undefined {
  return items[Math.floor(chance * items.length)];
}

/** A duration as a multiple of the mean: most are shorter, some are much longer. */
function around(chance: number): number {
  return -Math.log(1 - 0.999 * chance);
}

function webTransaction({ done, application: { archetype }, random }: SampledEvent): Attributes {
  const transaction = pick(archetype.transactions, random());
  const duration = done.responseSeconds * (transaction?.slowness ?? 1) * around(random());
  return {
    name: `WebTransaction/${transaction?.name ?? 'none'}`,
    transactionType: 'Web',
    duration,
    error: random() < done.errors / done.requests,
    region: pick(REGIONS, random()) ?? '',
    plan: pick(PLANS, random()) ?? '',
  };
}

function backgroundTransaction({ done, random }: SampledEvent): Attributes {
  return {
    name: 'OtherTransaction/Background/run',
    transactionType: 'Other',
    duration: done.backgroundSeconds * around(random()),
    error: false,
  };
}

function ofApplication({ id, name }: SimulatedApplication, account: number): Attributes {
  const guid = guidOf(account, 'APPLICATION', id);
  return { appName: name, appId: id, entityGuid: guid, 'entity.guid': guid };
}

/** Events of browsers carry the application's browser entity, as New Relic has two entities for it. */
function browserApplication(application: SimulatedApplication, account: number): Attributes {
  const { guid, domainId } = browserIdentity(account, application);
  return { appName: application.name, appId: Number(domainId), entityGuid: guid, 'entity.guid': guid };
}

/** The samples of New Relic's agent on a host, once a minute for each process. */
function hostSamples(attributes: (sample: Pick<SampledEvent, 'done' | 'random'>) => Attributes): Source {
  return function* ({ world, since, until, mayMatch }, application) {
    if (!hasHostAgent(application)) return;
    const { instances, ...scope } = world.whole(application);
    const guidOfHost = (hostId: number): string => hostIdentity(world.options.accountId, hostId).guid;
    const wanted = instances.filter(({ host, hostId }) =>
      mayMatch({ entityName: host, entityGuid: guidOfHost(hostId) }),
    );
    const [from, to] = [Math.floor(since / MINUTE), Math.ceil(until / MINUTE)];
    for (const { done, instance, minute } of world.minutes({ ...scope, instances: wanted }, from, to)) {
      const random = sequence(hash(done.entropy, instance.ordinal, 37));
      const guid = guidOfHost(instance.hostId);
      yield {
        ...{ entityName: instance.host, hostname: instance.host, entityGuid: guid, 'entity.guid': guid },
        timestamp: minute * MINUTE,
        ...attributes({ done, random }),
      };
    }
  };
}

/** One web vital, because browsers send an event for each. Times are in seconds; the layout shift has no unit. */
function timing({ pageSeconds, responseSeconds }: InstanceMinute, which: number, chance: number): Attributes {
  if (which === 0) return { largestContentfulPaint: pageSeconds * around(chance) };
  if (which === 1) return { interactionToNextPaint: responseSeconds * around(chance) };
  return { cumulativeLayoutShift: 0.08 * around(chance) };
}

const LOCATIONS = ['Frankfurt, DE', 'Columbus, OH, USA'];
const CHECK_MINUTES = 5;

/** Every application with web traffic has a monitor that checks it every five minutes from each location. */
function* syntheticChecks(search: EventSearch, application: SimulatedApplication): ReturnType<Source> {
  const { index, name, archetype } = application;
  if (archetype.web === undefined) return;
  const { seed, accountId } = search.world.options;
  for (const minute of minutesOf(search, CHECK_MINUTES)) {
    const { slowness, errorRatio } = applicationMinute(seed, application, minute);
    for (const [position, locationLabel] of LOCATIONS.entries()) {
      const chance = fraction(seed, index, minute, 8100 + position);
      yield {
        timestamp: minute * MINUTE + 1000 * position,
        monitorName: `${name} - ping`,
        entityGuid: guidOf(accountId, 'MONITOR', application.id),
        locationLabel,
        result: chance < errorRatio ? 'FAILED' : 'SUCCESS',
        duration: 1000 * (archetype.web.seconds * slowness + 0.05 + 0.1 * chance),
      };
    }
  }
}

const SNAPSHOT_MINUTES = 5;
/** The share that may fail, in percent. */
const ERROR_BUDGET = 0.5;

/** Applications with an alert policy have a service level. The failing share swings over a week, at times beyond the budget. */
function* serviceLevels(search: EventSearch, application: SimulatedApplication): ReturnType<Source> {
  const { index, name, archetype, alertPolicyId } = application;
  if (archetype.web === undefined || alertPolicyId === undefined) return;
  const { seed, accountId } = search.world.options;
  const phase = fraction(seed, index, 8200);
  for (const minute of minutesOf(search, SNAPSHOT_MINUTES)) {
    const failing = ERROR_BUDGET * (0.6 + 0.5 * Math.sin(2 * Math.PI * (phase + minute / (7 * DAY_MINUTES))));
    yield {
      timestamp: minute * MINUTE,
      'entity.guid': guidOf(accountId, 'SERVICE_LEVEL', application.id),
      'entity.name': `${name} - success`,
      'entity.type': 'EXT-SERVICE_LEVEL',
      sliCompliance: 100 - failing,
      remainingErrorBudget: 100 * (1 - failing / ERROR_BUDGET),
    };
  }
}

const DAY_MINUTES = 1440;

/** The opening and the end of every event that a condition opened because of an application. */
function* alerts({ world, since, until }: EventSearch, application: SimulatedApplication): ReturnType<Source> {
  const { id, name, index } = application;
  const from = Math.floor(since / MINUTE) - 2 * LONGEST_EVENT_MINUTES;
  const entity = {
    'entity.guid': guidOf(world.options.accountId, 'APPLICATION', id),
    'entity.name': name,
    'entity.type': 'APM_APPLICATION_ENTITY',
  };
  for (const event of alertEvents(world, application, from, until / MINUTE)) {
    const { fromMinute, toMinute, hasEntity, ...said } = event;
    const openTime = fromMinute * MINUTE + 20_000;
    const common = {
      ...said,
      incidentId: `${hash(index, fromMinute, said.conditionId, said.priority.length)}`,
      ...(hasEntity ? entity : {}),
      openTime,
    };
    yield { ...common, timestamp: openTime, event: 'open' };
    yield { ...common, timestamp: toMinute * MINUTE + 40_000, event: 'close' };
  }
}

const DEPLOYMENT_MINUTES = 1.5 * DAY_MINUTES;

/** Every application is deployed once in a day and a half, in turns with the newer and the older event type. */
function* deployments(
  search: EventSearch,
  { id, index, name }: SimulatedApplication,
  isNewForm: boolean,
): ReturnType<Source> {
  const { seed, accountId } = search.world.options;
  for (const first of minutesOf(search, DEPLOYMENT_MINUTES)) {
    const span = first / DEPLOYMENT_MINUTES;
    if ((span + index) % 2 === (isNewForm ? 1 : 0)) continue;
    const minute = Math.floor((span + fraction(seed, index, span, 8400)) * DEPLOYMENT_MINUTES);
    yield {
      timestamp: minute * MINUTE,
      'entity.guid': guidOf(accountId, 'APPLICATION', id),
      'entity.name': name,
      version: `v1.${span % 1000}.0`,
    };
  }
}

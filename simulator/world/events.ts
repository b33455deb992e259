import { ACCOUNT_SOURCES, type Attributes, type EventSearch, minutesOf, type StoredEvent } from './accountEvents.ts';
import type { InstanceMinute } from './traffic.ts';
import { alertEvents, LONGEST_EVENT_MINUTES } from './alertEvents.ts';
import { applicationMinute, fraction, hash, sequence } from './traffic.ts';
import type { SimulatedApplication } from './worldEntities.ts';
import { guidOf, MINUTE } from './worldEntities.ts';
import { browserIdentity, hasHostAgent, hostIdentity } from './monitoredEntities.ts';

/** Yields an application's events of one type. Some may lie outside the requested time. */
type Source = (search: EventSearch, application: SimulatedApplication) => Generator<StoredEvent, void, undefined>;

/** Yields all events of a type within the requested time. An unknown type has no events. */
export function* findEvents(type: string, search: EventSearch): ReturnType<Source> {
  const reporting = search.world.applications().filter(({ archetype }) => archetype.reporting);
  const applicationEvents = reporting.map((application) => SOURCES[type]?.(search, application));
  for (const events of [ACCOUNT_SOURCES[type]?.(search), ...applicationEvents]) {
    for (const event of events ?? []) {
      if (event.timestamp >= search.since && event.timestamp < search.until) yield event;
    }
  }
}

const SOURCES: Readonly<Record<string, Source>> = {
  Transaction: sampleEvents(
    (done) => done.requests + done.background,
    (sample) => (sample.index < sample.done.requests ? webTransaction(sample) : backgroundTransaction(sample)),
  ),
  TransactionError: sampleEvents(
    (done) => done.errors,
    ({ application: { archetype }, random }) => ({
      transactionName: `WebTransaction/${pick(archetype.transactions, random())?.name ?? 'none'}`,
      'error.class': random() < 0.7 ? 'TimeoutError' : 'ValidationError',
    }),
  ),
  PageView: sampleEvents(
    (done) => done.pageViews,
    ({ done, random }) => ({ duration: done.pageSeconds * spreadAround(random()) }),
    identifyBrowser,
  ),
  PageViewTiming: sampleEvents(
    (done) => done.pageViews * 3,
    ({ done, random, index }) => timing(done, index % 3, random()),
    identifyBrowser,
  ),
  JavaScriptError: sampleEvents(
    (done) => Math.ceil(done.pageViews / 50),
    () => ({}),
    identifyBrowser,
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

/** The most events that an instance sends in a minute. Queries that count events thus count samples, not requests. */
const SAMPLES = 6;

/** An event that an instance samples in a minute. */
interface SampledEvent {
  readonly done: InstanceMinute;
  readonly application: SimulatedApplication;
  /** Counts the instance's events in the minute from 0. */
  readonly index: number;
  /** A random sequence for this event alone. */
  readonly random: () => number;
}

/**
 * Creates a source of events that every instance samples every minute.
 *
 * @param count returns the number of events in the minute; the instance sends at most `SAMPLES`
 * @param attributes returns the attributes of one event
 * @param owner returns the attributes that all events of the application share; they name its entity
 */
function sampleEvents(
  count: (done: InstanceMinute) => number,
  attributes: (sample: SampledEvent) => Attributes,
  owner: (application: SimulatedApplication, account: number) => Attributes = identifyApplication,
): Source {
  return function* ({ world, since, until, mayMatch }, application) {
    const whose = owner(application, world.options.accountId);
    if (!mayMatch(whose)) return;
    const [from, to] = [Math.floor(since / MINUTE), Math.ceil(until / MINUTE)];
    for (const { done, instance, minute } of world.minutes(world.whole(application), from, to)) {
      for (let index = 0; index < Math.min(SAMPLES, count(done)); index += 1) {
        const random = sequence(hash(done.entropy, index, 31));
        const timestamp = minute * MINUTE + Math.floor(random() * MINUTE);
        // Spreads come last: V8 is slow at object literals with properties after a spread.
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

/** Returns a duration as a multiple of the mean: most are shorter, a few are much longer. */
function spreadAround(chance: number): number {
  return -Math.log(1 - 0.999 * chance);
}

function webTransaction({ done, application: { archetype }, random }: SampledEvent): Attributes {
  const transaction = pick(archetype.transactions, random());
  const duration = done.responseSeconds * (transaction?.slowness ?? 1) * spreadAround(random());
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
    duration: done.backgroundSeconds * spreadAround(random()),
    error: false,
  };
}

function identifyApplication({ id, name }: SimulatedApplication, account: number): Attributes {
  const guid = guidOf(account, 'APPLICATION', id);
  return { appName: name, appId: id, entityGuid: guid, 'entity.guid': guid };
}

/** Returns the browser entity of an application. New Relic has two entities for an application with page views. */
function identifyBrowser(application: SimulatedApplication, account: number): Attributes {
  const { guid, domainId } = browserIdentity(account, application);
  return { appName: application.name, appId: Number(domainId), entityGuid: guid, 'entity.guid': guid };
}

/** Creates a source of the samples of New Relic's host agent: one a minute for each instance. */
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

/** Returns one web vital: browsers send an event for each. Times are in seconds; the layout shift has no unit. */
function timing({ pageSeconds, responseSeconds }: InstanceMinute, which: number, chance: number): Attributes {
  if (which === 0) return { largestContentfulPaint: pageSeconds * spreadAround(chance) };
  if (which === 1) return { interactionToNextPaint: responseSeconds * spreadAround(chance) };
  return { cumulativeLayoutShift: 0.08 * spreadAround(chance) };
}

const LOCATIONS = ['Frankfurt, DE', 'Columbus, OH, USA'];
const CHECK_MINUTES = 5;

/** A monitor checks every application with web traffic every five minutes, from each location. */
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
/** The share of requests that may fail, in percent. */
const ERROR_BUDGET = 0.5;

/** An application with an alert policy has a service level. Its failing share swings weekly, also beyond the budget. */
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

/** Yields an `open` and a `close` event for each alert event of an application. */
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

/** Every application is deployed once in 36 hours. The newer and the older event type alternate. */
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

import {
  type SimulatedApplication,
  type SimulatedInstance,
  type Amendment,
  type SimulatedHost,
  applicationIds,
  hostsOf,
  identify,
  instancesOf,
  MAX_HOSTS,
  type SimulatedKeyTransaction,
  keyTransactions,
  isListed,
  isShown,
} from './worldEntities.ts';
import { type MetricDefinition, metricDefinitions } from './agentMetrics.ts';
import type { Archetype } from './archetypes.ts';
import { TimesliceSum } from './timesliceValues.ts';
import { type InstanceMinute, applicationMinute, instanceMinute, reportsIn } from './traffic.ts';

/** What figures are asked for: a whole application, one of its hosts, or one of its instances. */
export interface WorldScope {
  readonly level: 'application' | 'host' | 'instance';
  readonly application: SimulatedApplication;
  /** The instances whose records are added up. */
  readonly instances: readonly SimulatedInstance[];
  /** How many instances the application has in all. */
  readonly instancesOfApplication: number;
}

export interface WorldOptions {
  readonly seed: number;
  readonly applications: number;
  readonly hostsPerApplication: number;
  readonly keyTransactions: number;
  /**
   * Which metrics hosts and instances have: `documented` follows the vendor's metric lists, where components, queue time and
   * total time are the application's alone; `all` answers for hosts whatever their agents report.
   */
  readonly hostMetrics: 'documented' | 'all';
  /** The account that all of it is in. */
  readonly accountId: number;
}

/**
 * A monitored estate as a pure function of its options, its amendments and the time. It never changes: an amendment
 * gives another world. Times are milliseconds since 1970, minutes are whole minutes since 1970.
 */
export class World {
  readonly options: WorldOptions;
  readonly #amendments: ReadonlyMap<number, Amendment>;
  /** Metric definitions depend on nothing but the archetype; the cache only saves building them again. */
  readonly #definitions = new Map<Archetype, ReadonlyMap<string, MetricDefinition>>();

  constructor(options: WorldOptions, amendments: ReadonlyMap<number, Amendment> = new Map()) {
    if (options.hostsPerApplication > MAX_HOSTS) throw new RangeError(`at most ${MAX_HOSTS} hosts per application`);
    this.options = options;
    this.#amendments = amendments;
  }

  /** This world with one entity changed on top of earlier changes; `undefined` takes all its changes back. */
  amend(id: number, amendment: Amendment | undefined): World {
    const amendments = new Map(this.#amendments);
    if (amendment === undefined) amendments.delete(id);
    else amendments.set(id, { ...amendments.get(id), ...amendment });
    return new World(this.options, amendments);
  }

  /** Every application that was not removed, in the order of the list. */
  applications(): readonly SimulatedApplication[] {
    return applicationIds(this.options.applications)
      .map((id) => this.application(id))
      .filter((application) => application !== undefined);
  }

  application(id: number): SimulatedApplication | undefined {
    const application = identify(id, this.options.applications, this.#amendments);
    return application?.amendment.removed === true ? undefined : application;
  }

  /** The hosts that reported within the last hour. */
  hosts(application: SimulatedApplication, now: number): readonly SimulatedHost[] {
    const hosts = isListed(application, now) ? hostsOf(application, this.options.hostsPerApplication) : [];
    return hosts.filter(({ host }) => isShown(application, host));
  }

  instances(application: SimulatedApplication, now: number): readonly SimulatedInstance[] {
    return instancesOf(application, this.hosts(application, now));
  }

  /** The key transactions of applications that were not removed. */
  keyTransactions(): readonly SimulatedKeyTransaction[] {
    return keyTransactions(this.options.keyTransactions, this.options.applications, this.#amendments);
  }

  /** The scope of a whole application. */
  whole(application: SimulatedApplication): WorldScope {
    const instances = instancesOf(application, hostsOf(application, this.options.hostsPerApplication));
    return { level: 'application', application, instances, instancesOfApplication: instances.length };
  }

  /** The scope of these ids, or undefined when one of them does not exist. Give a host or an instance, not both. */
  scope(ids: { application: number; host?: number; instance?: number }): WorldScope | undefined {
    const application = this.application(ids.application);
    if (application === undefined) return undefined;
    const scope = this.whole(application);
    if (ids.host === undefined && ids.instance === undefined) return scope;
    const instances = scope.instances.filter(
      ({ id, host, hostId }) =>
        isShown(application, host) && (ids.host === undefined ? id === ids.instance : hostId === ids.host),
    );
    if (instances.length === 0) return undefined;
    return { ...scope, level: ids.host === undefined ? 'instance' : 'host', instances };
  }

  /** The metrics that can be read in a scope, by name. */
  metrics(scope: WorldScope): readonly MetricDefinition[] {
    return [...this.#definitionsOf(scope).values()].filter((metric) => this.#isAvailable(metric, scope));
  }

  metric(scope: WorldScope, name: string): MetricDefinition | undefined {
    const metric = this.#definitionsOf(scope).get(name);
    return metric !== undefined && this.#isAvailable(metric, scope) ? metric : undefined;
  }

  #isAvailable({ reach }: MetricDefinition, { level }: WorldScope): boolean {
    if (level === 'application' || reach === 'everywhere') return true;
    return reach === 'agent' && this.options.hostMetrics === 'all';
  }

  /** Adds up the minutes from `fromMinute` to before `toMinute`, for each metric of the list in turn. */
  sum(
    scope: WorldScope,
    metrics: readonly MetricDefinition[],
    fromMinute: number,
    toMinute: number,
  ): readonly TimesliceSum[] {
    const sums = metrics.map((metric) => ({ metric, sum: new TimesliceSum() }));
    for (const { done } of this.minutes(scope, fromMinute, toMinute)) {
      for (const { metric, sum } of sums) {
        const record = metric.record(done);
        if (record !== undefined) sum.add(record);
      }
    }
    return sums.map(({ sum }) => sum);
  }

  /** What the instances of a scope did in each minute from `fromMinute` to before `toMinute` in which they reported. */
  *minutes(
    { application, instances, instancesOfApplication }: WorldScope,
    fromMinute: number,
    toMinute: number,
  ): Generator<
    { readonly done: InstanceMinute; readonly instance: SimulatedInstance; readonly minute: number },
    void,
    undefined
  > {
    const { seed } = this.options;
    for (let minute = fromMinute; minute < toMinute; minute += 1) {
      if (!reportsIn(application, minute)) continue;
      const shared = applicationMinute(seed, application, minute);
      for (const instance of instances) {
        const done = instanceMinute(seed, application, instance.ordinal, instancesOfApplication, shared);
        yield { done, instance, minute };
      }
    }
  }

  #definitionsOf(scope: WorldScope): ReadonlyMap<string, MetricDefinition> {
    const { archetype } = scope.application;
    const known = this.#definitions.get(archetype) ?? metricDefinitions(archetype);
    this.#definitions.set(archetype, known);
    return known;
  }
}

/** A world of sixteen applications unless told otherwise: one of each archetype. */
export function createWorld(options: Partial<WorldOptions> = {}): World {
  const applications = options.applications ?? 16;
  return new World({
    seed: options.seed ?? 1,
    applications,
    hostsPerApplication: options.hostsPerApplication ?? 2,
    keyTransactions: options.keyTransactions ?? Math.max(8, Math.floor(applications / 2)),
    hostMetrics: options.hostMetrics ?? 'documented',
    accountId: options.accountId ?? 1_234_567,
  });
}

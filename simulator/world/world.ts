import {
  type Amendment,
  type HourlyIncident,
  INVISIBLE_APPLICATION_ID,
  isListed,
  isShown,
  MINUTE,
  silentFrom,
  type SimulatedApplication,
  type SimulatedHost,
  type SimulatedInstance,
  type SimulatedKeyTransaction,
} from './worldEntities.ts';
import { type MetricDefinition, metricDefinitions } from './agentMetrics.ts';
import { type Archetype, ARCHETYPES, PLAIN_ARCHETYPES } from './archetypes.ts';
import { TimesliceSum } from './timesliceValues.ts';
import { applicationMinute, arrivalMinute, instanceMinute } from './traffic.ts';

/** The scope of figures: a whole application, one of its hosts, or one of its instances. */
export interface WorldScope {
  readonly level: 'application' | 'host' | 'instance';
  readonly application: SimulatedApplication;
  /** The instances whose records the figures add up. */
  readonly instances: readonly SimulatedInstance[];
  /** The number of the application's instances. */
  readonly instancesOfApplication: number;
}

export interface WorldOptions {
  readonly seed: number;
  readonly applications: number;
  readonly hostsPerApplication: number;
  readonly keyTransactions: number;
  /**
   * The metrics of hosts and instances: `documented` follows New Relic's metric lists, where components, queue time and
   * total time are the application's alone; `all` gives hosts every metric that their agents report.
   */
  readonly hostMetrics: 'documented' | 'all';
  /** The number of the account. */
  readonly accountId: number;
  /** The index of the account among the accounts of the key. Accounts share no application or key transaction. */
  readonly accountIndex: number;
  /** The number of applications of each earlier account; by default the same as here. */
  readonly applicationsBefore: number;
  /** The share, from 0 to 1, of reports (one instance, one minute) that arrive one to eight minutes late. */
  readonly lateData: number;
  /** True: names have every possible character. False: names as users normally choose them. */
  readonly oddNames: boolean;
  readonly hourlyIncident: HourlyIncident | undefined;
  /** The seed generates occasional incidents of every application. */
  readonly chanceIncidents: boolean;
}

/** Indexes determine ids: a look-up needs no table, and ids stay the same when the world grows. */
const FIRST_APPLICATION_ID = 1_000_001;
const FIRST_HOST_ID = 100_000_001;
const FIRST_ALERT_POLICY_ID = 300_001;
const FIRST_KEY_TRANSACTION_ID = 5_000_001;
const MAX_HOSTS = 10_000;
const MAX_INSTANCES = 100;

/** Special states by index of the key transaction. All other key transactions are busy. */
const SPECIAL_STATES: Readonly<Record<number, SimulatedKeyTransaction['state']>> = {
  1: 'idle',
  3: 'bare',
  4: 'silent',
};
/** The index of the key transaction whose application the key cannot see. */
const INVISIBLE_INDEX = 2;

/** Returns the archetype of an application by its index, and its name before any amendment. */
function kindOf(
  index: number,
  { oddNames }: WorldOptions,
): { readonly archetype: Archetype; readonly name: string } | undefined {
  const archetypes = oddNames ? ARCHETYPES : PLAIN_ARCHETYPES;
  const archetype = archetypes[index % archetypes.length];
  const round = Math.floor(index / archetypes.length) + 1;
  return archetype && { archetype, name: round === 1 ? archetype.name : `${archetype.name} ${round}` };
}

function hostName({ archetype, index: application }: SimulatedApplication, index: number): string {
  const slug = archetype.name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  return `${slug}-${application + 1}-${String(archetype.hostsShareOneName ? 1 : index + 1).padStart(2, '0')}`;
}

function instancesOf(
  { archetype }: SimulatedApplication,
  hosts: readonly SimulatedHost[],
): readonly SimulatedInstance[] {
  const { instancesPerHost, port } = archetype;
  return hosts.flatMap((host) =>
    Array.from({ length: instancesPerHost }, (_, index) => ({
      id: host.id * MAX_INSTANCES + index,
      ordinal: host.index * instancesPerHost + index,
      hostId: host.id,
      host: host.host,
      port: port === undefined || port === 0 ? port : port + index,
    })),
  );
}

/**
 * A monitored estate: a pure function of options, amendments and time. A world is immutable, and `amend` returns
 * another world. Times are milliseconds since 1970, minutes are whole minutes since 1970.
 */
export class World {
  readonly options: WorldOptions;
  readonly #amendments: ReadonlyMap<number, Amendment>;
  /** A cache, because metric definitions depend only on the archetype. */
  readonly #definitions = new Map<Archetype, ReadonlyMap<string, MetricDefinition>>();

  constructor(options: WorldOptions, amendments: ReadonlyMap<number, Amendment> = new Map()) {
    if (options.hostsPerApplication > MAX_HOSTS) throw new RangeError(`at most ${MAX_HOSTS} hosts per application`);
    this.options = options;
    this.#amendments = amendments;
  }

  /** Returns this world with a further change to one entity; `undefined` reverts all changes to the entity. */
  amend(id: number, amendment: Amendment | undefined): World {
    const amendments = new Map(this.#amendments);
    if (amendment === undefined) amendments.delete(id);
    else amendments.set(id, { ...amendments.get(id), ...amendment });
    return new World(this.options, amendments);
  }

  /** Lists the applications without removed ones, in the order of ids. */
  applications(): readonly SimulatedApplication[] {
    return this.#all().filter(({ amendment }) => amendment.removed !== true);
  }

  application(id: number): SimulatedApplication | undefined {
    const application = this.#identify(id);
    return application?.amendment.removed === true ? undefined : application;
  }

  /** Lists all applications, including removed applications. */
  #all(): readonly SimulatedApplication[] {
    return Array.from({ length: this.options.applications }, (_, index) =>
      this.#identify(FIRST_APPLICATION_ID + this.#firstIndex + index),
    ).filter((application) => application !== undefined);
  }

  get #firstIndex(): number {
    return this.options.accountIndex * this.options.applicationsBefore;
  }

  #identify(id: number): SimulatedApplication | undefined {
    const index = id - FIRST_APPLICATION_ID;
    const position = index - this.#firstIndex;
    const kind = position >= 0 && position < this.options.applications ? kindOf(index, this.options) : undefined;
    if (kind === undefined) return undefined;
    const amendment = this.#amendments.get(id) ?? {};
    const { hourlyIncident, chanceIncidents } = this.options;
    return {
      index,
      id,
      name: amendment.name ?? kind.name,
      archetype: kind.archetype,
      alertPolicyId: kind.archetype.alertPolicy ? FIRST_ALERT_POLICY_ID + index : undefined,
      hourlyIncident: hourlyIncident?.application === index ? hourlyIncident.fromMinute : undefined,
      hasChanceIncidents: chanceIncidents,
      amendment,
    };
  }

  /** Lists the hosts that reported within the last hour. */
  hosts(application: SimulatedApplication, now: number): readonly SimulatedHost[] {
    return isListed(application, now)
      ? this.#hostsOf(application).filter(({ host }) => isShown(application, host))
      : [];
  }

  #hostsOf(application: SimulatedApplication): readonly SimulatedHost[] {
    return Array.from({ length: this.options.hostsPerApplication }, (_, index) => ({
      index,
      id: FIRST_HOST_ID + application.index * MAX_HOSTS + index,
      host: hostName(application, index),
    }));
  }

  instances(application: SimulatedApplication, now: number): readonly SimulatedInstance[] {
    return instancesOf(application, this.hosts(application, now));
  }

  /**
   * Lists the key transactions, distributed over the web applications in turn. Skips removed applications. The
   * first five have all special states, so that a small world has each state.
   */
  keyTransactions(): readonly SimulatedKeyTransaction[] {
    const parents = this.#all().flatMap((application) => {
      const { reporting, web, transactions } = application.archetype;
      const transaction = transactions.at(-1);
      return !reporting || (web?.perMinute ?? 0) === 0 || transaction === undefined
        ? []
        : [{ application, transaction }];
    });
    return Array.from({ length: this.options.keyTransactions }, (_, index) => index).flatMap((index) => {
      const parent = parents[index % parents.length];
      const id = FIRST_KEY_TRANSACTION_ID + this.options.accountIndex * this.options.keyTransactions + index;
      const amendment = this.#amendments.get(id) ?? {};
      if (parent === undefined || parent.application.amendment.removed === true || amendment.removed === true)
        return [];
      const { application, transaction } = parent;
      const name = `${kindOf(application.index, this.options)?.name ?? ''}: ${transaction.name.split('/').slice(1).join('/')}`;
      const numbered = index < parents.length ? name : `${name} (${Math.floor(index / parents.length) + 1})`;
      const owner = index === INVISIBLE_INDEX ? INVISIBLE_APPLICATION_ID : application.id;
      return [
        {
          id,
          name: amendment.name ?? numbered,
          transactionName: `WebTransaction/${transaction.name}`,
          applicationId: amendment.application ?? owner,
          apdexTarget: application.archetype.apdexTarget * transaction.slowness,
          source: { application, transaction: transaction.name },
          state: SPECIAL_STATES[index] ?? 'busy',
          isFailing: amendment.failing ?? false,
        },
      ];
    });
  }

  /** Returns the scope of a whole application, hidden hosts included. */
  whole(application: SimulatedApplication): WorldScope {
    const instances = instancesOf(application, this.#hostsOf(application));
    return { level: 'application', application, instances, instancesOfApplication: instances.length };
  }

  /** Returns the scope of an application, or of one host or instance; undefined if an id does not exist. */
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

  /** Lists the metrics that a scope has, by name. */
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

  /** Adds up each metric from `fromMinute` to before `toMinute`, from the reports that arrived by `now`. */
  sum(
    scope: WorldScope,
    metrics: readonly MetricDefinition[],
    fromMinute: number,
    toMinute: number,
    now = Infinity,
  ): readonly TimesliceSum[] {
    const sums = metrics.map((metric) => ({ metric, sum: new TimesliceSum() }));
    for (const { done } of this.minutes(scope, fromMinute, toMinute, now)) {
      for (const { metric, sum } of sums) {
        const record = metric.record(done);
        if (record !== undefined) sum.add(record);
      }
    }
    return sums.map(({ sum }) => sum);
  }

  /**
   * Yields the work of each instance of a scope in each minute from `fromMinute` to before `toMinute`. Skips reports
   * that have not arrived at `now` (milliseconds since 1970).
   */
  *minutes(
    { application, instances, instancesOfApplication }: WorldScope,
    fromMinute: number,
    toMinute: number,
    now = Infinity,
  ) {
    const { seed, lateData } = this.options;
    const currentMinute = now / MINUTE;
    const end = Math.min(toMinute, silentFrom(application));
    for (let minute = fromMinute; minute < end; minute += 1) {
      const shared = applicationMinute(seed, application, minute);
      for (const instance of instances) {
        const { ordinal } = instance;
        const isLate =
          lateData > 0 && arrivalMinute(seed, application.index, ordinal, minute, lateData) > currentMinute;
        if (isLate) continue;
        const done = instanceMinute(seed, application, ordinal, instancesOfApplication, shared);
        yield { done, instance, minute };
      }
    }
  }

  #definitionsOf(scope: WorldScope): ReadonlyMap<string, MetricDefinition> {
    const { archetype } = scope.application;
    const definitions = this.#definitions.get(archetype) ?? metricDefinitions(archetype);
    this.#definitions.set(archetype, definitions);
    return definitions;
  }
}

/** Creates a world; by default with sixteen applications, one of each archetype. */
export function createWorld(options: Partial<WorldOptions> = {}): World {
  const { applications = 16 } = options;
  return new World({
    ...{
      seed: 1,
      hostsPerApplication: 2,
      hostMetrics: 'documented',
      accountId: 1_234_567,
      accountIndex: 0,
      lateData: 0,
      oddNames: true,
      hourlyIncident: undefined,
      chanceIncidents: true,
    },
    ...{ keyTransactions: Math.max(8, Math.floor(applications / 2)), applicationsBefore: applications },
    ...options,
    applications,
  });
}

import { GROUPS, type Group } from '../metrics/sample.ts';
import type { Plan } from './view.ts';
import { effectiveInterval, type Pace } from './due.ts';
import { intervalOf, type AccountContext } from './scope.ts';
import { type Entity, GROUP_OF, type Kind } from './entity.ts';
import type { TimeRange } from '../api/reader.ts';
import type { Turns } from '../eventLoop/turns.ts';
import type { Inventory } from './inventory.ts';
import type { Reads } from './kinds.ts';
import type { Clock } from './clock.ts';

const MINUTE = 60_000;

/** How much room is left when the calls at once slow an account, so that its entities are read before they are due. */
const HEADROOM = 1.1;

/** By how much less has to be needed before an account that was slowed gets faster again. */
const RELIEF = 1.3;

/** How many calls one refresh of each group takes; groups that are off are left out. */
export type GroupCalls = ReadonlyMap<Group, number>;

/** What an account can carry: calls per minute by its budget, and by its calls at once. */
export interface Carried {
  readonly perMinute: number;
  /** The factor by which calls at once slow the account, from `slowedBy`; 1 = not. */
  readonly slowed: number;
  /** Calls per minute that the calls at once can carry at the measured duration; undefined before one was measured. */
  readonly byPlaces: number | undefined;
}

/** What a steady state costs, and how far it must be slowed to be carried. */
export function planCalls(calls: GroupCalls, intervalOf: (group: Group) => number, carried: Carried): Plan {
  const rates = GROUPS.filter((group) => calls.has(group)).map((group) => {
    const callsPerRefresh = calls.get(group) ?? 0;
    const interval = intervalOf(group);
    // No group is refreshed more than once per window, and windows are a minute apart.
    return {
      group,
      callsPerRefresh,
      interval,
      callsPerMinute: (callsPerRefresh * MINUTE) / Math.max(interval, MINUTE),
    };
  });
  const callsPerMinute = rates.reduce((sum, rate) => sum + rate.callsPerMinute, 0);
  const stretch = Math.max(1, callsPerMinute / carried.perMinute, carried.slowed);
  const groups = rates.map((rate) => ({
    ...rate,
    effectiveInterval: effectiveInterval(rate.interval, stretch),
  }));
  return { groups, callsPerMinute, budget: carried.perMinute, carriedByPlaces: carried.byPlaces, stretch };
}

/**
 * The factor by which calls at once slow an account. It follows a need that grows at once and with some room, and one that
 * shrinks only when it has become clearly less, so that measured durations do not make it go up and down.
 *
 * @param before the factor until now, at least 1
 * @param needed calls per minute divided by those that can be carried
 */
export function slowedBy(before: number, needed: number): number {
  if (needed <= before && needed >= before / RELIEF) return before;
  return needed <= 1 && before <= 1 ? 1 : Math.max(1, needed * HEADROOM);
}

/** Entities count for at least this long after something asked for them. */
const ASKED_FOR = 300_000;

/**
 * Which entities count in states, plans and intervals: those that something has asked for lately. Times are milliseconds
 * of the monotonic clock; `stretch` is the factor by which the plan slows all groups.
 */
export class AskedFor {
  readonly #context: Readonly<AccountContext>;
  readonly #everythingCounts: boolean;
  #newlyAsked = 0;

  /** @param everythingCounts true: entities count whether something asks for them or not */
  constructor(context: Readonly<AccountContext>, everythingCounts: boolean) {
    this.#context = context;
    this.#everythingCounts = everythingCounts;
  }

  /** How often an entity began to count. */
  get newlyAsked(): number {
    return this.#newlyAsked;
  }

  /** Something asks for an entity at `now`: from then on it counts. */
  ask(entity: Entity, stretch: number, now: number): void {
    if (!this.counts(entity, stretch, now)) this.#newlyAsked += 1;
    entity.ask(now);
  }

  counts(entity: Entity, stretch: number, now: number): boolean {
    return this.counting(stretch, now)(entity);
  }

  /** As `counts`, for many entities at the same time. */
  counting(stretch: number, now: number): (entity: Entity) => boolean {
    if (this.#everythingCounts) return () => true;
    const limits = new Map<Group, number>();
    return ({ group, askedAt }) => {
      let limit = limits.get(group);
      if (limit === undefined) {
        const interval = effectiveInterval(intervalOf(this.#context.collection, group), stretch);
        limits.set(group, (limit = Math.max(ASKED_FOR, 2 * interval)));
      }
      return now - askedAt <= limit;
    };
  }
}

const ONE_MINUTE = 60_000;

/** A plan is made anew at most this often while entities come and go one by one. */
const PLAN_AGE = 5_000;

/** And this often while they come by the hundred; only once there are twice as many is it made at once. */
const SHORT_PLAN_AGE = 500;

/** So many calls carry so many entities of a kind. */
interface KindCost {
  readonly calls: number;
  readonly entities: number;
}

type KindCosts = ReadonlyMap<Kind, KindCost>;

const NOT_KNOWN: KindCosts = new Map();

/** A plan, what follows from it, and what it was made of. */
export interface MadePlan {
  readonly plan: Plan;
  readonly costs: KindCosts;
  readonly paces: ReadonlyMap<Group, Pace>;
  readonly at: number;
  readonly version: number;
  readonly entities: number;
  readonly account: AccountContext['account'];
  readonly collection: AccountContext['collection'];
}

/** What plans are made of. */
export interface PlanSources {
  readonly context: Readonly<AccountContext>;
  readonly inventory: Inventory;
  readonly reads: Reads;
  readonly clock: Clock;
  /** How long a call takes, in milliseconds; undefined before one was measured. */
  readonly averageCall: () => number | undefined;
}

/** The calls of entities that count, by group, and what their kinds cost. */
interface CallCounts {
  readonly calls: ReadonlyMap<Group, number>;
  readonly costs: KindCosts;
  readonly entities: number;
}

/**
 * Makes the plan of an account, and keeps it until what counts has changed by enough or some time has passed. To fill calls
 * with thousands of entities takes a while, so only an exact plan does; another takes over what a kind costs.
 */
export class CurrentPlan {
  readonly #sources: PlanSources;
  readonly #askedFor: AskedFor;
  #made: MadePlan | undefined;
  #slowed = 1;

  constructor(sources: PlanSources, askedFor: AskedFor) {
    this.#sources = sources;
    this.#askedFor = askedFor;
  }

  /** The factor by which the newest plan slows all groups; 1 before there is one. */
  get stretch(): number {
    return this.#made?.plan.stretch ?? 1;
  }

  /** The next plan is made anew: the configuration has changed. */
  forget(): void {
    this.#made = undefined;
  }

  /** The plan of now, with the calls of a window. `exact`: made anew, with calls that are filled. */
  get(window: TimeRange, exact = false): MadePlan {
    const now = this.#sources.clock.monotonic();
    const kept = exact ? undefined : this.#kept(now);
    return kept ?? (this.#made = this.#make(window, now, this.#known(exact)));
  }

  /** As `get`, in turns between which other work goes on; each kind has its calls filled in a turn of its own. */
  async make(window: TimeRange, turns: Turns, exact: boolean): Promise<void> {
    const { clock } = this.#sources;
    if (!exact && this.#kept(clock.monotonic()) !== undefined) return;
    const costs = new Map(this.#known(exact));
    await turns.next();
    for (const [kind, entities] of this.#counted(clock.monotonic())) {
      if (costs.has(kind)) continue;
      await turns.next();
      costs.set(kind, this.#costOf(kind, entities, window));
    }
    await turns.next();
    this.#made = this.#make(window, clock.monotonic(), costs);
  }

  /** The newest plan, unless it was made for another configuration, for far fewer or more entities, or long ago. */
  #kept(now: number): MadePlan | undefined {
    const made = this.#made;
    if (made === undefined || !this.#isOfConfiguration(made) || now - made.at >= PLAN_AGE) return undefined;
    const changed = this.#version - made.version;
    const enough = now - made.at < SHORT_PLAN_AGE ? made.entities : made.entities / 10;
    return changed === 0 || changed < enough ? made : undefined;
  }

  /** What is known of the cost of kinds; an exact plan takes nothing over. */
  #known(exact: boolean): KindCosts {
    const made = this.#made;
    return exact || made === undefined || !this.#isOfConfiguration(made) ? NOT_KNOWN : made.costs;
  }

  #isOfConfiguration({ account, collection }: MadePlan): boolean {
    const { context } = this.#sources;
    return account === context.account && collection === context.collection;
  }

  /** Grows whenever what counts may have changed. */
  get #version(): number {
    return this.#sources.inventory.version + this.#askedFor.newlyAsked;
  }

  #make(window: TimeRange, now: number, known: KindCosts): MadePlan {
    const { account, collection } = this.#sources.context;
    const { calls, costs, entities } = this.#count(window, now, known);
    const intervals = (group: Group): number => intervalOf(collection, group);
    const byPlaces = this.#carriedByPlaces();
    const carried: Carried = { perMinute: account.limits.requests_per_minute, slowed: 1, byPlaces };
    const unslowed = planCalls(calls, intervals, carried);
    if (byPlaces !== undefined) this.#slowed = slowedBy(this.#slowed, unslowed.callsPerMinute / byPlaces);
    const plan = planCalls(calls, intervals, { ...carried, slowed: this.#slowed });
    const paces = new Map(GROUPS.map((group) => [group, { interval: intervals(group), stretch: plan.stretch }]));
    return { plan, costs, paces, at: now, version: this.#version, entities, account, collection };
  }

  /** Calls per minute that the calls at once carry; undefined before a call was measured. */
  #carriedByPlaces(): number | undefined {
    const average = this.#sources.averageCall();
    if (average === undefined || average === 0) return undefined;
    return (ONE_MINUTE * this.#sources.context.account.limits.max_concurrent_requests) / average;
  }

  /** @param known what these kinds cost: calls are filled for the other kinds only */
  #count(window: TimeRange, now: number, known: KindCosts): CallCounts {
    const calls = new Map<Group, number>();
    const costs = new Map<Kind, KindCost>();
    let entities = 0;
    for (const [kind, ofKind] of this.#counted(now)) {
      const cost = known.get(kind) ?? this.#costOf(kind, ofKind, window);
      const group = GROUP_OF[kind];
      calls.set(group, (calls.get(group) ?? 0) + Math.ceil((cost.calls * ofKind.length) / cost.entities));
      costs.set(kind, cost);
      entities += ofKind.length;
    }
    return { calls, costs, entities };
  }

  /** The entities that count, by kind. */
  #counted(now: number): ReadonlyMap<Kind, readonly Entity[]> {
    const counts = this.#askedFor.counting(this.stretch, now);
    const byKind = new Map<Kind, Entity[]>();
    for (const entity of this.#sources.inventory.entities()) {
      if (!counts(entity)) continue;
      const ofKind = byKind.get(entity.kind);
      if (ofKind === undefined) byKind.set(entity.kind, [entity]);
      else ofKind.push(entity);
    }
    return byKind;
  }

  /** Fills calls with entities of a kind. */
  #costOf(kind: Kind, entities: readonly Entity[], window: TimeRange): KindCost {
    const calls = this.#sources.reads.of(kind).callsFor(entities, window);
    return { calls, entities: entities.length };
  }
}

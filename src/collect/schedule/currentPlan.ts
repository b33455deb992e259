import { fillCalls } from '../../api/batches.ts';
import type { TimeRange } from '../../api/reader.ts';
import type { Turns } from '../../eventLoop/turns.ts';
import { GROUPS, type Group } from '../../metrics/groups.ts';
import { intervalOf, type AccountContext } from '../inventory/context.ts';
import { GROUP_OF, type Entity, type Kind } from '../inventory/entity.ts';
import type { Inventory } from '../inventory/inventory.ts';
import type { Reads } from '../reading/reads.ts';
import type { Plan } from '../view.ts';
import type { AskedFor } from './askedFor.ts';
import type { Clock } from './clock.ts';
import type { Pace } from './due.ts';
import { planCalls, slowedBy, type Carried } from './plan.ts';

const MINUTE = 60_000;

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
    return (MINUTE * this.#sources.context.account.limits.max_concurrent_requests) / average;
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
    let calls = 0;
    fillCalls(this.#sources.reads.of(kind), entities, window, (call) => {
      calls += call.calls;
    });
    return { calls, entities: entities.length };
  }
}

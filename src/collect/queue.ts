import type { Group } from '../metrics/groups.ts';
import type { Unit } from './unit.ts';

/** Ties, and the first refresh, go in this order (contract 4, point 3). */
const ORDER: readonly Group[] = [
  'applications',
  'key_transactions',
  'metric_names',
  'custom_metrics',
  'application_metrics',
  'hosts',
  'host_metrics',
  'instances',
];

/** Never read values are overdue against this interval, whatever their group's: the first refresh is urgent. */
const FIRST_READ_INTERVAL = 60_000;

/** When a unit is due (-Infinity: never read) and the interval of its group, both in milliseconds. */
export interface Timing {
  dueAt(unit: Unit): number;
  intervalOf(group: Group): number;
}

interface Lane {
  readonly units: Unit[];
  sorted: boolean;
}

/**
 * The units that wait for their turn: most overdue first, as time overdue divided by the interval of their group; what
 * failed never goes ahead of healthy work (contract 4, point 3). Within a group all share one interval, so a group's
 * order does not change with time and only the groups' heads are compared.
 */
export class DueQueue {
  readonly #timing: Timing;
  readonly #unread = new Map<Group, Lane>();
  readonly #overdue = new Map<Group, Lane>();
  readonly #failed = new Map<Group, Lane>();
  #size = 0;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  get size(): number {
    return this.#size;
  }

  add(unit: Unit): void {
    const lanes = unit.failures > 0 ? this.#failed : unit.held === undefined ? this.#unread : this.#overdue;
    const lane = lanes.get(unit.group);
    if (lane === undefined) lanes.set(unit.group, { units: [unit], sorted: true });
    else {
      lane.units.push(unit);
      lane.sorted = false;
    }
    this.#size += 1;
  }

  /** Takes the unit whose turn it is at `now`; undefined when none is left. Units that are gone are passed over. */
  take(now: number): Unit | undefined {
    const lane = this.#healthiest(now) ?? this.#first(this.#failed);
    const unit = lane?.units.pop();
    if (unit !== undefined) this.#size -= 1;
    return unit;
  }

  #healthiest(now: number): Lane | undefined {
    let best: Lane | undefined;
    let bestRatio = -Infinity;
    const first = this.#first(this.#unread);
    if (first !== undefined) {
      best = first;
      bestRatio = (now - head(first).firstSeen) / FIRST_READ_INTERVAL;
    }
    for (const group of ORDER) {
      const lane = this.#ready(this.#overdue, group);
      if (lane === undefined) continue;
      const ratio = (now - this.#timing.dueAt(head(lane))) / this.#timing.intervalOf(group);
      const tieGoesTo = best !== undefined && ratio === bestRatio && before(group, head(best).group);
      if (ratio > bestRatio || tieGoesTo) {
        best = lane;
        bestRatio = ratio;
      }
    }
    return best;
  }

  #first(lanes: Map<Group, Lane>): Lane | undefined {
    for (const group of ORDER) {
      const lane = this.#ready(lanes, group);
      if (lane !== undefined) return lane;
    }
    return undefined;
  }

  /** The group's lane with its most overdue unit last, or undefined when it holds none that is still wanted. */
  #ready(lanes: Map<Group, Lane>, group: Group): Lane | undefined {
    const lane = lanes.get(group);
    if (lane === undefined) return undefined;
    if (!lane.sorted) {
      const position = new Map(lane.units.map((unit) => [unit, this.#position(unit)]));
      // Reversed first, so that the stable sort keeps equal units in the order in which they came.
      lane.units.reverse().sort((a, b) => (position.get(b) ?? 0) - (position.get(a) ?? 0));
      lane.sorted = true;
    }
    while (lane.units.at(-1)?.gone === true) {
      lane.units.pop();
      this.#size -= 1;
    }
    return lane.units.length === 0 ? undefined : lane;
  }

  #position(unit: Unit): number {
    if (unit.failures > 0) return unit.retryAt;
    return unit.held === undefined ? unit.firstSeen : this.#timing.dueAt(unit);
  }
}

function head(lane: Lane): Unit {
  const unit = lane.units.at(-1);
  if (unit === undefined) throw new Error('an empty lane has no head');
  return unit;
}

function before(a: Group, b: Group): boolean {
  return ORDER.indexOf(a) < ORDER.indexOf(b);
}

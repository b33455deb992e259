import type { Group } from '../metrics/groups.ts';
import { Heap } from './heap.ts';
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

/** When a unit that holds something is due, and the intervals of its group, all in milliseconds. */
export interface Timing {
  dueAt(unit: Unit): number;
  intervalOf(group: Group): number;
  /** The interval that the budget allows. */
  effectiveIntervalOf(group: Group): number;
}

type Lanes = Map<Group, Heap<Unit>>;

interface Candidate {
  readonly lane: Heap<Unit>;
  /** Time overdue divided by the interval; below 0 when not due yet. */
  readonly overdue: number;
}

/**
 * The units that wait for their turn: most overdue first, as time overdue divided by the interval of their group (contract
 * 4, point 3). What failed goes after all healthy work that is due; only once it has waited for an interval, as long as
 * anything waits between two reads, it competes with it, so that it does not starve where the queue never runs empty.
 *
 * Within a group all share one interval, so a group's order does not change with time and only the groups' heads are
 * compared.
 */
export class DueQueue {
  readonly #timing: Timing;
  readonly #unread: Lanes = new Map();
  readonly #held: Lanes = new Map();
  readonly #failed: Lanes = new Map();

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  /** How many units wait, among them those that are gone and were not passed over yet. */
  get size(): number {
    let size = 0;
    for (const lanes of [this.#unread, this.#held, this.#failed]) for (const lane of lanes.values()) size += lane.size;
    return size;
  }

  add(unit: Unit): void {
    if (unit.failures > 0) push(this.#failed, unit.retryAt, unit);
    else if (unit.held === undefined) push(this.#unread, unit.firstSeen, unit);
    else push(this.#held, this.#timing.dueAt(unit), unit);
  }

  /** Takes the unit whose turn it is at `now`; undefined when none is left. Units that are gone are passed over. */
  take(now: number): Unit | undefined {
    const best = this.#mostOverdue(now);
    if (best !== undefined && best.overdue >= 0) return best.lane.pop();
    return (this.#longestFailed() ?? best?.lane)?.pop();
  }

  /** Of what failed, the one that may be tried again the longest; ties go in the order of the groups. */
  #longestFailed(): Heap<Unit> | undefined {
    let longest: Heap<Unit> | undefined;
    for (const group of ORDER) {
      const lane = wanted(this.#failed, group);
      const retryAt = lane?.peek()?.retryAt ?? Infinity;
      if (retryAt < (longest?.peek()?.retryAt ?? Infinity)) longest = lane;
    }
    return longest;
  }

  #mostOverdue(now: number): Candidate | undefined {
    let best: Candidate | undefined;
    const consider = (lanes: Lanes, group: Group, overdueOf: (head: Unit) => number): void => {
      const lane = wanted(lanes, group);
      const head = lane?.peek();
      if (lane === undefined || head === undefined) return;
      const overdue = overdueOf(head);
      // Strictly more: ties stay with the group that comes first.
      if (best === undefined || overdue > best.overdue) best = { lane, overdue };
    };
    let unreadSeen = false;
    for (const group of ORDER) {
      const interval = this.#timing.intervalOf(group);
      // The first refresh goes strictly in the order of the groups.
      if (!unreadSeen) {
        consider(this.#unread, group, ({ firstSeen }) => (now - firstSeen) / FIRST_READ_INTERVAL);
        unreadSeen = wanted(this.#unread, group) !== undefined;
      }
      consider(this.#held, group, (head) => (now - this.#timing.dueAt(head)) / interval);
      consider(this.#failed, group, ({ retryAt }) => {
        const overdue = (now - retryAt - this.#timing.effectiveIntervalOf(group)) / interval;
        return overdue >= 0 ? overdue : -Infinity;
      });
    }
    return best;
  }
}

function push(lanes: Lanes, position: number, unit: Unit): void {
  let lane = lanes.get(unit.group);
  if (lane === undefined) lanes.set(unit.group, (lane = new Heap()));
  lane.push(position, unit);
}

/** The group's lane with a head that is still wanted; undefined when it holds none. */
function wanted(lanes: Lanes, group: Group): Heap<Unit> | undefined {
  const lane = lanes.get(group);
  if (lane === undefined) return undefined;
  while (lane.peek()?.gone === true) lane.pop();
  return lane.size === 0 ? undefined : lane;
}

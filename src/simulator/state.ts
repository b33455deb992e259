import { FaultBook } from './faults/book.ts';
import { RequestLog } from './requestLog.ts';
import type { Change } from './change.ts';
import { toAmendment } from './change.ts';
import type { World } from './world/world.ts';

/** What a running simulator holds and may change: the world in force, the faults, the log of calls. */
export class SimulatorState {
  readonly faults = new FaultBook();
  readonly requests = new RequestLog();
  readonly now: () => number;
  #world: World;

  constructor(world: World, now: () => number) {
    this.#world = world;
    this.now = now;
  }

  get world(): World {
    return this.#world;
  }

  /** Changes one application from now on. Throws a ZodError on a bad change. */
  change(applicationId: number, change: Change): void {
    this.#world = this.#world.amend(applicationId, toAmendment(change, this.now()));
  }

  /** Takes back everything that was changed about one application. */
  restore(applicationId: number): void {
    this.#world = this.#world.amend(applicationId, undefined);
  }
}

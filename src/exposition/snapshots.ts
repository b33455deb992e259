import type { Group } from '../metrics/groups.ts';
import type { Block } from '../metrics/sample.ts';
import { Snapshot } from './snapshot.ts';

/** Scopes that can be answered in turn without making their text anew. */
const KEPT_SCOPES = 4;

/** Answers below this many samples are put together faster than they are worth keeping. */
const WORTH_KEEPING = 2000;

/**
 * The newest snapshot of each scope (the whole answer, a choice of groups), so that a superseded one does not keep its
 * values alive. What a scope is shows in the groups of its blocks.
 */
export class Snapshots {
  /** In order of last use. */
  readonly #kept = new Map<string, Snapshot>();

  of(blocks: readonly Block[], maxSeries: number): Snapshot {
    let samples = 0;
    const groups = new Set<Group>();
    for (const block of blocks) {
      samples += block.samples.length;
      groups.add(block.group);
    }
    if (samples < WORTH_KEEPING) {
      return new Snapshot(blocks, maxSeries, undefined);
    }
    const scope = [...groups].join();
    const kept = this.#kept.get(scope);
    const snapshot = kept?.holds(blocks, maxSeries) === true ? kept : new Snapshot(blocks, maxSeries, kept);
    this.#keep(scope, snapshot);
    return snapshot;
  }

  #keep(scope: string, snapshot: Snapshot): void {
    this.#kept.delete(scope);
    this.#kept.set(scope, snapshot);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_SCOPES) {
        break;
      }
      this.#kept.delete(oldest);
    }
  }
}

import { UpstreamError } from '../../api/errors.ts';
import type { Batch, BatchRead, CallOptions, Outcome, TimeRange } from '../../api/reader.ts';
import type { Entity } from '../inventory/entity.ts';

/** Takes an answer over into the inventory. */
export type TakeOver = () => void;

/** How the entities of one kind are read: many at a time, as many as one call carries. */
export type EntityRead = BatchRead<Entity, TakeOver>;

/** A list of the account: one subject, which is read by a method of its own. */
export function wholeList(calls: number, read: (call: CallOptions) => Promise<TakeOver>): EntityRead {
  return {
    open: () => {
      let full = false;
      return {
        calls,
        get full() {
          return full;
        },
        add: () => !full && (full = true),
      };
    },
    read: async (entities, _range, call) => {
      let outcome: Outcome<TakeOver>;
      try {
        outcome = { value: await read(call) };
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        outcome = { error };
      }
      return entities.map(() => outcome);
    },
  };
}

/** A read of the upstream reader, by entity instead of by subject. */
export function mapped<S, A, Own extends S>(
  read: BatchRead<S, A> | undefined,
  subjectOf: (entity: Entity) => Own,
  arrive: (entity: Entity, answer: A, subject: Own) => void,
): EntityRead {
  if (read === undefined) throw new Error('this interface has no such data');
  return {
    open: (range: TimeRange) => new EntityBatch(read.open(range), subjectOf),
    read: async (entities, range, call) => {
      const subjects = entities.map(subjectOf);
      const outcomes = await read.read(subjects, range, call);
      return entities.map((entity, index): Outcome<TakeOver> => {
        const outcome = outcomes[index];
        const subject = subjects[index];
        if (outcome === undefined || subject === undefined)
          throw new Error('upstream reader gave fewer outcomes than it was given subjects');
        if ('error' in outcome) return outcome;
        return { value: () => arrive(entity, outcome.value, subject) };
      });
    },
  };
}

class EntityBatch<S> implements Batch<Entity> {
  readonly #batch: Batch<S>;
  readonly #subjectOf: (entity: Entity) => S;

  constructor(batch: Batch<S>, subjectOf: (entity: Entity) => S) {
    this.#batch = batch;
    this.#subjectOf = subjectOf;
  }

  get full(): boolean {
    return this.#batch.full;
  }

  get calls(): number {
    return this.#batch.calls;
  }

  add(entity: Entity): boolean {
    return this.#batch.add(this.#subjectOf(entity));
  }
}

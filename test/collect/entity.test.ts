import { describe, expect, it } from 'vitest';
import { Entity } from '../../src/collect/entity.ts';

const HELD = { windowStart: 0, windowEnd: 60, readAt: 3_000, shownAt: 3_000 };

/** An entity that a change of the configuration made overdue, and whose next attempt has begun. */
function begun(): Entity {
  const entity = new Entity('applications', {}, 0);
  entity.makeOverdue();
  entity.queue();
  entity.begin(1_000);
  return entity;
}

describe('an entity that must be read again', () => {
  it('is due by its interval only, once an attempt has ended well', () => {
    const entity = begun();
    entity.succeed(HELD);
    expect([entity.overdue, entity.failures, entity.seconds]).toEqual([false, 0, 2]);
  });

  it('still must be after an attempt that failed, and after the next one that failed', () => {
    const entity = begun();
    for (const failures of [1, 2]) {
      entity.fail('no', 1_500);
      expect([entity.overdue, entity.failures, entity.problem]).toEqual([true, failures, 'no']);
      entity.begin(2_000);
    }
    entity.succeed(HELD);
    expect([entity.overdue, entity.failures, entity.problem]).toEqual([false, 0, undefined]);
  });

  it('still must be when the change came during the attempt, however that ends', () => {
    const [well, ill] = [begun(), begun()];
    for (const entity of [well, ill]) entity.makeOverdue();
    well.succeed(HELD);
    ill.fail('no', 2_000);
    expect([well.overdue, ill.overdue]).toEqual([true, true]);
  });
});

import { describe, expect, it } from 'vitest';
import { GroupProgress } from '../../src/collect/progress.ts';
import { Unit } from '../../src/collect/unit.ts';

const unit = (): Unit =>
  new Unit(
    'hosts',
    {},
    0,
    () => Promise.resolve(),
    () => undefined,
  );

describe('the progress of a group', () => {
  it('is unknown before the first refresh has ended', () => {
    const progress = new GroupProgress('hosts');
    progress.queued(unit(), 60, 1_000);
    expect([progress.success, progress.seconds, progress.lastSuccess]).toEqual([undefined, undefined, undefined]);
  });

  it('takes a refresh from its first unit queued to its last ended', () => {
    const progress = new GroupProgress('hosts');
    const [one, two] = [unit(), unit()];
    progress.queued(one, 60, 1_000);
    progress.queued(two, 60, 2_000);
    progress.ended(one, false, 3_000);
    expect(progress.success).toBeUndefined();
    progress.ended(two, false, 5_000);
    expect([progress.success, progress.seconds, progress.lastSuccess]).toEqual([true, 4, 5]);
  });

  it('remembers the last success when a refresh fails', () => {
    const progress = new GroupProgress('hosts');
    const one = unit();
    progress.queued(one, 60, 1_000);
    progress.ended(one, false, 2_000);
    progress.queued(one, 120, 61_000);
    progress.ended(one, true, 62_000);
    expect([progress.success, progress.lastSuccess]).toEqual([false, 2]);
  });

  it('counts work for a later window to the next refresh, so that a group which never rests still reports', () => {
    const progress = new GroupProgress('hosts');
    const [one, two] = [unit(), unit()];
    progress.queued(one, 60, 1_000);
    progress.queued(two, 120, 61_000);
    progress.ended(one, false, 62_000);
    expect(progress.lastSuccess).toBe(62);
    progress.ended(two, true, 63_000);
    expect(progress.success).toBe(false);
  });

  it('does not hold against a group what failed and is gone', () => {
    const progress = new GroupProgress('hosts');
    const one = unit();
    progress.queued(one, 60, 1_000);
    progress.ended(one, true, 2_000);
    one.gone = true;
    expect(progress.success).toBe(true);
  });

  it('counts having nothing to read as a refresh that went well, but not while one is under way', () => {
    const progress = new GroupProgress('hosts');
    progress.queued(unit(), 60, 1_000);
    progress.nothingToDo(2_000);
    expect(progress.success).toBeUndefined();
    const idle = new GroupProgress('hosts');
    idle.nothingToDo(2_000);
    expect([idle.success, idle.seconds, idle.lastSuccess]).toEqual([true, 0, 2]);
  });
});

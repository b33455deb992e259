import { describe, expect, it } from 'vitest';
import { GroupProgress } from '../../src/collect/schedule/progress.ts';
import { Entity } from '../../src/collect/inventory/entity.ts';

const entity = (): Entity => new Entity('hosts', {}, 0);

/** The same moment by both clocks; what is shown is Unix time. */
const at = (ms: number) => ({ monotonic: ms, wall: 1_000_000_000 + ms });
const everything = (): boolean => true;

describe('the progress of a group', () => {
  it('is unknown before the first refresh has ended', () => {
    const progress = new GroupProgress('hosts');
    progress.queued(entity(), 60, 1_000);
    expect([progress.success(everything), progress.seconds, progress.lastSuccess]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('takes a refresh from its first entity queued to its last ended', () => {
    const progress = new GroupProgress('hosts');
    const [one, two] = [entity(), entity()];
    progress.queued(one, 60, 1_000);
    progress.queued(two, 60, 2_000);
    progress.ended(one, false, at(3_000));
    expect(progress.success(everything)).toBeUndefined();
    progress.ended(two, false, at(5_000));
    expect([progress.success(everything), progress.seconds, progress.lastSuccess]).toEqual([true, 4, 1_000_005]);
  });

  it('remembers the last success when a refresh fails', () => {
    const progress = new GroupProgress('hosts');
    const one = entity();
    progress.queued(one, 60, 1_000);
    progress.ended(one, false, at(2_000));
    progress.queued(one, 120, 61_000);
    progress.ended(one, true, at(62_000));
    expect([progress.success(everything), progress.lastSuccess]).toEqual([false, 1_000_002]);
  });

  it('counts work for a later window to the next refresh, so that a group which never rests still reports', () => {
    const progress = new GroupProgress('hosts');
    const [one, two] = [entity(), entity()];
    progress.queued(one, 60, 1_000);
    progress.queued(two, 120, 61_000);
    progress.ended(one, false, at(62_000));
    expect(progress.lastSuccess).toBe(1_000_062);
    progress.ended(two, true, at(63_000));
    expect(progress.success(everything)).toBe(false);
  });

  it('does not hold against a group what failed and is gone', () => {
    const progress = new GroupProgress('hosts');
    const one = entity();
    progress.queued(one, 60, 1_000);
    progress.ended(one, true, at(2_000));
    one.retire();
    expect(progress.success(everything)).toBe(true);
  });

  it('does not hold against a group what failed and counts no longer', () => {
    const progress = new GroupProgress('hosts');
    const one = entity();
    progress.queued(one, 60, 1_000);
    progress.ended(one, true, at(2_000));
    expect(progress.success((counted) => counted !== one)).toBe(true);
    expect(progress.success(everything)).toBe(false);
  });

  it('counts having nothing to read as a refresh that went well, but not while one is under way', () => {
    const progress = new GroupProgress('hosts');
    progress.queued(entity(), 60, 1_000);
    progress.nothingToDo(at(2_000));
    expect(progress.success(everything)).toBeUndefined();
    const idle = new GroupProgress('hosts');
    idle.nothingToDo(at(2_000));
    expect([idle.success(everything), idle.seconds, idle.lastSuccess]).toEqual([true, 0, 1_000_002]);
  });
});

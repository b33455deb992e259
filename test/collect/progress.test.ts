import { describe, expect, it } from 'vitest';
import { GroupProgress } from '../../src/collect/groupProgress.ts';
import { Entity } from '../../src/collect/entity.ts';

const entity = (): Entity => new Entity('hosts', {}, 0);

/** The same moment by both clocks; what is shown is Unix time. */
const at = (ms: number) => ({ monotonic: ms, wall: 1_000_000_000 + ms });
const everything = (): boolean => true;

describe('the progress of a group', () => {
  it('is unknown before the first refresh has ended', () => {
    const progress = new GroupProgress('hosts', everything);
    progress.queued(entity(), 60, 1_000);
    expect([progress.success, progress.seconds, progress.lastSuccess]).toEqual([undefined, undefined, undefined]);
  });

  it('takes a refresh from its first entity queued to its last ended', () => {
    const progress = new GroupProgress('hosts', everything);
    const [one, two] = [entity(), entity()];
    progress.queued(one, 60, 1_000);
    progress.queued(two, 60, 2_000);
    progress.ended(one, false, at(3_000));
    expect(progress.success).toBeUndefined();
    progress.ended(two, false, at(5_000));
    expect([progress.success, progress.seconds, progress.lastSuccess]).toEqual([true, 4, 1_000_005]);
  });

  it('remembers the last success when a refresh fails', () => {
    const progress = new GroupProgress('hosts', everything);
    const one = entity();
    progress.queued(one, 60, 1_000);
    progress.ended(one, false, at(2_000));
    progress.queued(one, 120, 61_000);
    progress.ended(one, true, at(62_000));
    expect([progress.success, progress.lastSuccess]).toEqual([false, 1_000_002]);
  });

  it('counts work for a later window to the next refresh, so that a group which never rests still reports', () => {
    const progress = new GroupProgress('hosts', everything);
    const [one, two] = [entity(), entity()];
    progress.queued(one, 60, 1_000);
    progress.queued(two, 120, 61_000);
    progress.ended(one, false, at(62_000));
    expect(progress.lastSuccess).toBe(1_000_062);
    progress.ended(two, true, at(63_000));
    expect(progress.success).toBe(false);
  });

  it('does not hold against a group what failed and is gone', () => {
    const progress = new GroupProgress('hosts', everything);
    const one = entity();
    progress.queued(one, 60, 1_000);
    progress.ended(one, true, at(2_000));
    one.retire();
    expect(progress.success).toBe(true);
  });

  it('does not hold against a group what failed and counts no longer', () => {
    const one = entity();
    let asked = true;
    const progress = new GroupProgress('hosts', (counted) => counted !== one || asked);
    progress.queued(one, 60, 1_000);
    progress.ended(one, true, at(2_000));
    expect([progress.success, progress.lastSuccess]).toEqual([false, undefined]);
    asked = false;
    expect(progress.success).toBe(true);
    progress.nothingToDo(at(3_000));
    expect(progress.lastSuccess).toBe(1_000_003);
  });

  it('holds a failure against a later refresh that leaves out what failed, until it has been read', () => {
    const progress = new GroupProgress('hosts', everything);
    const [sick, well] = [entity(), entity()];
    progress.queued(sick, 60, 1_000);
    progress.queued(well, 60, 1_000);
    progress.ended(well, false, at(2_000));
    progress.ended(sick, true, at(3_000));
    progress.queued(well, 120, 61_000);
    progress.ended(well, false, at(62_000));
    expect([progress.success, progress.lastSuccess]).toEqual([false, undefined]);
    progress.queued(sick, 120, 63_000);
    progress.ended(sick, false, at(64_000));
    expect([progress.success, progress.lastSuccess]).toEqual([true, 1_000_064]);
  });

  it('holds the failure of an entity against it before the refresh has ended', () => {
    const progress = new GroupProgress('hosts', everything);
    const [sick, slow] = [entity(), entity()];
    progress.queued(sick, 60, 1_000);
    progress.queued(slow, 60, 1_000);
    progress.ended(sick, true, at(2_000));
    expect(progress.success).toBe(false);
  });

  it('counts having nothing to read as a refresh that went well, but not while one is under way', () => {
    const progress = new GroupProgress('hosts', everything);
    progress.queued(entity(), 60, 1_000);
    progress.nothingToDo(at(2_000));
    expect(progress.success).toBeUndefined();
    const idle = new GroupProgress('hosts', everything);
    idle.nothingToDo(at(2_000));
    expect([idle.success, idle.seconds, idle.lastSuccess]).toEqual([true, 0, 1_000_002]);
  });
});

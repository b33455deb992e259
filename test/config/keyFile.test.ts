import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openKey } from '../../src/config/keys.ts';
import { temporaryFolders } from './folder.ts';

const newFolder = temporaryFolders();

/** Opens a key source and records its keys and problems; `wait` advances its clock. */
function opening(account: Parameters<typeof openKey>[0]) {
  let now = 1_000_000;
  const keys: string[] = [];
  const problems: string[] = [];
  const opened = openKey(account, {
    now: () => now,
    onKey: (key) => keys.push(key),
    onProblem: (problem) => problems.push(problem),
  });
  return { opened, keys, problems, wait: (milliseconds: number) => (now += milliseconds) };
}

function open(path: string) {
  const { opened, ...told } = opening({ api_key_file: path });
  if ('problem' in opened) throw new Error(opened.problem);
  return { source: opened, ...told };
}

describe('the key of an account', () => {
  it('comes from the configuration and never changes', () => {
    const { opened, keys, wait } = opening({ api_key: 'abcd' });
    wait(10_000);
    expect('current' in opened && [opened.current(), keys]).toEqual(['abcd', ['abcd']]);
  });

  it('is required: a key or a key file', () => {
    expect(opening({}).opened).toEqual({ problem: 'there is neither a key nor a key file' });
  });

  it('cannot be opened from a missing file', () => {
    const path = join(newFolder(), 'key');
    expect(opening({ api_key_file: path }).opened).toEqual({ problem: `the key file ${path} does not exist` });
  });
});

describe('a key file', () => {
  it('is read again after a change, at most once a second', () => {
    const path = join(newFolder(), 'key');
    writeFileSync(path, 'first\n');
    const { source, keys, wait } = open(path);
    writeFileSync(path, ' second-key \n');
    wait(999);
    expect(source.current()).toBe('first');
    wait(1);
    expect(source.current()).toBe('second-key');
    expect(keys).toEqual(['first', 'second-key']);
  });

  /** Writes a key file with this modification time. */
  const put = (path: string, key: string, time = 1_000): void => {
    writeFileSync(path, key);
    utimesSync(path, time, time);
  };

  it.each<[how: string, change: (path: string, folder: string) => void, key?: string]>([
    ['is rewritten with a key of the same length', (path) => put(path, 'other2', 2_000)],
    [
      'is replaced by a file of the same length and time',
      (path) => {
        put(`${path}.new`, 'other2');
        renameSync(`${path}.new`, path);
      },
    ],
    [
      'lies behind a swapped link, like a mounted secret',
      (_, folder) => {
        mkdirSync(join(folder, 'b'));
        put(join(folder, 'b', 'key'), 'other2');
        symlinkSync('b', join(folder, 'next'));
        renameSync(join(folder, 'next'), join(folder, 'data'));
      },
    ],
    ['is rewritten with the same key, which counts as unchanged', (path) => put(path, 'first1\n', 2_000), 'first1'],
  ])('is read again when it %s', (_, change, key = 'other2') => {
    const folder = newFolder();
    mkdirSync(join(folder, 'a'));
    put(join(folder, 'a', 'key'), 'first1');
    symlinkSync('a', join(folder, 'data'));
    const path = join(folder, 'data', 'key');
    const { source, keys, wait } = open(path);
    change(path, folder);
    wait(1_000);
    expect([source.current(), keys]).toEqual([key, [...new Set(['first1', key])]]);
  });

  it('is closed after each read, also after a failed read', ({ skip }) => {
    skip(process.platform !== 'linux', 'only Linux lists the open files of a process');
    const path = join(newFolder(), 'key');
    writeFileSync(path, 'first');
    const { source, wait } = open(path);
    const openFiles = () => readdirSync('/proc/self/fd').length;
    const before = openFiles();
    for (let look = 0; look < 100; look += 1) {
      // A good, an empty and a too large file in turn.
      writeFileSync(path, ['key', '', 'x'.repeat(20_000)][look % 3] ?? '');
      utimesSync(path, look, look);
      wait(1_000);
      source.current();
    }
    expect(openFiles()).toBeLessThan(before + 50);
  });

  it('that vanishes leaves the last key in use, is reported once, and is read again once it is back', () => {
    const path = join(newFolder(), 'key');
    writeFileSync(path, 'first');
    const { source, problems, wait } = open(path);
    rmSync(path);
    for (let second = 0; second < 3; second += 1) {
      wait(1_000);
      expect(source.current()).toBe('first');
    }
    writeFileSync(path, '');
    wait(1_000);
    expect(source.current()).toBe('first');
    expect(problems).toEqual([`the key file ${path} does not exist`]);
    writeFileSync(path, 'second');
    wait(1_000);
    expect(source.current()).toBe('second');
    rmSync(path);
    wait(1_000);
    expect([source.current(), problems.length]).toEqual(['second', 2]);
  });

  it('is read again also after the clock was set back', () => {
    const path = join(newFolder(), 'key');
    writeFileSync(path, 'first');
    const { source, wait } = open(path);
    writeFileSync(path, 'second');
    wait(-3_600_000);
    expect(source.current()).toBe('second');
  });
});

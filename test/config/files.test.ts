import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readIdentity, readFile, readText, readTextOrPipe } from '../../src/config/files.ts';
import { temporaryFolders } from './folder.ts';

const newFolder = temporaryFolders();

function namedPipe(): string {
  const path = join(newFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

describe('a file that the configuration names', () => {
  it('is read through links, up to 8 MB', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'data'), 'é\n');
    symlinkSync('data', join(folder, 'link'));
    symlinkSync('link', join(folder, 'further'));
    expect(readText(join(folder, 'further'))).toEqual({ text: 'é\n' });
    truncateSync(join(folder, 'data'), 8 * 1_048_576);
    expect(readFile(join(folder, 'further'))).toHaveProperty('bytes');
  });

  it('is read to its end although its size is 0, like the files in /proc', ({ skip }) => {
    skip(process.platform !== 'linux', 'only Linux makes up such files');
    expect(readFile('/proc/self/status')).toMatchObject({ bytes: expect.any(Buffer) as Buffer });
    expect((readText('/proc/self/status') as { readonly text: string }).text).toContain('Pid:');
  });

  it.each<[string, (folder: string) => string, string]>([
    ['nothing', (folder) => join(folder, 'none'), 'does not exist'],
    ['a folder', (folder) => folder, 'is a directory, not a file'],
    ['a device', () => '/dev/zero', 'is not a regular file'],
    ['a pipe that nobody writes to', () => namedPipe(), 'is not a regular file'],
    [
      'a link to itself',
      (folder) => {
        symlinkSync('circle', join(folder, 'circle'));
        return join(folder, 'circle');
      },
      'cannot be read: its symbolic links lead in a circle',
    ],
    [
      'a file of more than 8 MB',
      (folder) => {
        writeFileSync(join(folder, 'large'), '');
        truncateSync(join(folder, 'large'), 8 * 1_048_576 + 1);
        return join(folder, 'large');
      },
      'is larger than 8 MB',
    ],
  ])('must not be %s', (_, make, problem) => {
    expect(readFile(make(newFolder()))).toMatchObject({ problem });
  });

  it('has another identity after a change', () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'a'));
    const path = join(folder, 'file');
    writeFileSync(path, 'one');
    const identity = readIdentity(path);
    expect(readIdentity(path)).toBe(identity);
    writeFileSync(path, 'three');
    expect(readIdentity(path)).not.toBe(identity);
  });
});

describe('a file that is read only once', () => {
  it('may be a pipe whose writer comes later and writes in pieces', async () => {
    const path = namedPipe();
    const read = readTextOrPipe(path);
    const writer = await open(path, 'w');
    await writer.write('accounts:');
    await writer.write(' []');
    await writer.close();
    expect(await read).toEqual({ text: 'accounts: []' });
  });

  it('may be a regular file, with the same problems', async () => {
    const path = join(newFolder(), 'file');
    expect(await readTextOrPipe(path)).toEqual({ problem: 'does not exist' });
    writeFileSync(path, 'a');
    expect(await readTextOrPipe(path)).toEqual({ text: 'a' });
  });
});

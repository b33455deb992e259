import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from './processes.ts';

/** Kept out of version control; removing it only costs the next run a download. */
export const CACHE_FOLDER = resolve(import.meta.dirname, '../../../.cache/real-programs');

const UNPACKED = join(CACHE_FOLDER, 'debian');
const LOCK = join(CACHE_FOLDER, 'lock');
const FAILURE = join(CACHE_FOLDER, 'failure.txt');

const DOWNLOAD_LIMIT = 90_000;
/** Test files that start after a failed download within this time do not wait for another one. */
const FAILURE_HOLDS = 300_000;

export type Download = { readonly folder: string } | { readonly problem: string };

/**
 * Gives the folder with the unpacked Debian packages of Prometheus and Alertmanager (`usr/bin/...`), downloading them
 * without root and without installing anything when they are not there yet. Safe for several test files at once.
 */
export async function unpackedDebianPackages(): Promise<Download> {
  if (existsSync(UNPACKED)) return { folder: UNPACKED };
  for (const tool of ['apt-get', 'dpkg']) {
    if (!onPath(tool)) return { problem: `not a Debian-like system: no ${tool}` };
  }
  mkdirSync(CACHE_FOLDER, { recursive: true });
  const end = Date.now() + DOWNLOAD_LIMIT * 2;
  while (!takeLock()) {
    if (Date.now() > end) return { problem: `another process holds ${LOCK}` };
    await sleep(100);
  }
  try {
    if (existsSync(UNPACKED)) return { folder: UNPACKED };
    const earlier = recentFailure();
    if (earlier !== undefined) return { problem: earlier };
    await download();
    return { folder: UNPACKED };
  } catch (error) {
    const problem = `download of the Debian packages failed: ${error instanceof Error ? error.message : String(error)}`;
    writeFileSync(FAILURE, problem);
    return { problem };
  } finally {
    rmSync(LOCK, { recursive: true, force: true });
  }
}

/** The first file of this name in the folders of PATH. */
export function onPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':').filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file) && statSync(file).isFile());
}

async function download(): Promise<void> {
  const work = join(CACHE_FOLDER, `download-${process.pid}`);
  rmSync(work, { recursive: true, force: true });
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'root']) {
    mkdirSync(join(work, folder), { recursive: true });
  }
  const end = Date.now() + DOWNLOAD_LIMIT;
  const must = async (...command: [string, ...string[]]): Promise<void> => {
    const { status, stderr } = await runCommand(command, { cwd: work, limit: Math.max(1000, end - Date.now()) });
    if (status !== 0) throw new Error(`${command[0]} ended with status ${status}: ${stderr.trim()}`);
  };
  const apt = ['-qq', ...options(work)];
  try {
    await must('apt-get', ...apt, 'update');
    await must('apt-get', ...apt, 'download', 'prometheus', 'prometheus-alertmanager');
    await unpack(work, must);
    // Debian 13 and later keep promtool in a package of its own.
    if (!existsSync(join(work, 'root/usr/bin/promtool'))) {
      await must('apt-get', ...apt, 'download', 'promtool');
      await unpack(work, must);
    }
    renameSync(join(work, 'root'), UNPACKED);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function options(work: string): string[] {
  const settings = {
    'Dir::State': `${work}/state`,
    'Dir::State::lists': `${work}/state/lists`,
    'Dir::Cache': `${work}/cache`,
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

async function unpack(work: string, must: (...command: [string, ...string[]]) => Promise<void>): Promise<void> {
  for (const file of readdirSync(work).filter((name) => name.endsWith('.deb'))) await must('dpkg', '-x', file, 'root');
}

/** Making a folder either succeeds or fails as one step; a lock whose owner has died is taken over. */
function takeLock(): boolean {
  try {
    mkdirSync(LOCK);
    writeFileSync(join(LOCK, 'pid'), String(process.pid));
    return true;
  } catch {
    if (ownerHasDied()) rmSync(LOCK, { recursive: true, force: true });
    return false;
  }
}

function ownerHasDied(): boolean {
  try {
    const owner = Number(readFileSync(join(LOCK, 'pid'), 'utf8'));
    // Between making the folder and writing the file there is no number yet.
    if (!Number.isInteger(owner) || owner <= 0) return false;
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

function recentFailure(): string | undefined {
  if (!existsSync(FAILURE) || Date.now() - statSync(FAILURE).mtimeMs > FAILURE_HOLDS) return undefined;
  return readFileSync(FAILURE, 'utf8');
}

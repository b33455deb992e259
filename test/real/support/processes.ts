import { execFile } from 'node:child_process';
import type { RealProgram } from './realPrograms.ts';

export interface Finished {
  /** Exit status; null when a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly cwd?: string;
  /** Variables on top of those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds after which the program is killed. */
  readonly limit?: number;
}

/** Runs a command to its end; rejects only when it cannot be started or exceeds its limit. */
export function runCommand(command: readonly [string, ...string[]], options: RunOptions = {}): Promise<Finished> {
  const [file, ...args] = command;
  const limit = options.limit ?? 120_000;
  return new Promise((resolve, reject) => {
    const child = execFile(
      file,
      args,
      {
        timeout: limit,
        killSignal: 'SIGKILL',
        maxBuffer: 64 * 1024 * 1024,
        env: { ...process.env, ...options.env },
        ...(options.cwd && { cwd: options.cwd }),
      },
      (error, stdout, stderr) => {
        if (error?.killed) reject(new Error(`${file} did not end within ${limit / 1000} s: ${stderr}`));
        // A number is the exit status, which the caller judges; a word, such as ENOENT, says that there was no run.
        else if (typeof error?.code === 'string') reject(new Error(`${file}: ${error.message}`, { cause: error }));
        else resolve({ status: child.exitCode, stdout, stderr });
      },
    );
    // A program that ends before it has read its input breaks the pipe; its status and words tell why.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input ?? '');
  });
}

/**
 * Runs a real program with arguments to its end. GOGC lets Go's garbage collector wait for more: these programs end soon,
 * and it would take a quarter of their processor time.
 */
export function run(program: RealProgram, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  return runCommand([...program.command, ...args], { ...options, env: { GOGC: '400' } });
}

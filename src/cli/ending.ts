import { existsSync } from 'node:fs';
import process from 'node:process';

/** Time for the event loop to become empty after a command has done its work, in milliseconds. */
const END_LIMIT = 200;

/** Ends faster than another Node.js would start; an image may lack it. */
const SHELL = '/bin/sh';

/** Ends the process with this status as soon as nothing is open any more, or else after 200 ms. */
export function endSoon(status: number): void {
  process.exitCode = status;
  setTimeout(() => endProcess(status), END_LIMIT).unref();
}

/** Ends the process with this status at once, also while the system still resolves a name. */
export function endProcess(status: number): never {
  // Added last, so that the log has written its last lines before.
  process.once('exit', () => abandonLookups(status));
  process.exit(status);
}

/**
 * Ends the process without waiting for threads in getaddrinfo(3), which Node joins at its exit and which a silent name server
 * holds for up to 20 seconds. Another program takes the place of this process and exits with the status. Before Node 22.15
 * only a signal ends the process early; it has no effect on PID 1 of a container, which then waits.
 */
function abandonLookups(status: number): void {
  if (!process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap')) return;
  const { execve } = process as { execve?: (file: string, args: readonly string[], env: object) => never };
  if (existsSync(SHELL)) execve?.(SHELL, [SHELL, '-c', `exit ${status}`], {});
  else execve?.(process.execPath, [process.execPath, '-e', `process.exit(${status})`], {});
  process.removeAllListeners('SIGTERM');
  process.kill(process.pid, 'SIGTERM');
}

import { existsSync } from 'node:fs';
import process from 'node:process';

/** Ends faster than another Node.js would start. Some images have no shell. */
const SHELL = '/bin/sh';

/** Ends the process with this status once the event loop is empty, at the latest after 200 ms. */
export function endSoon(status: number): void {
  process.exitCode = status;
  setTimeout(() => endProcess(status), 200).unref();
}

/** Ends the process with this status at once, even while the system resolves a host name. */
export function endProcess(status: number): never {
  // The last listener, because the log writes its last lines in an earlier one.
  process.once('exit', () => abandonLookups(status));
  process.exit(status);
}

/**
 * Ends the process without waiting for threads in getaddrinfo(3). Node joins these threads at exit, and a silent name
 * server blocks them for up to 20 seconds. Another program replaces this process and exits with the status. Node
 * before 22.15 cannot replace the process, so a signal ends it. PID 1 of a container ignores that signal and waits.
 */
function abandonLookups(status: number): void {
  if (!process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap')) return;
  const { execve } = process as { execve?: (file: string, args: readonly string[], env: object) => never };
  if (existsSync(SHELL)) execve?.(SHELL, [SHELL, '-c', `exit ${status}`], {});
  else execve?.(process.execPath, [process.execPath, '-e', `process.exit(${status})`], {});
  process.removeAllListeners('SIGTERM');
  process.kill(process.pid, 'SIGTERM');
}

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The command line of a process, as everybody on this machine can read it. */
export function commandLine(pid: number): string {
  return process.platform === 'linux' ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : ps('args=', pid);
}

/** Bytes of memory that a process has in use, as the kernel counts them. */
export function residentBytes(pid: number): number {
  if (process.platform !== 'linux') return 1024 * Number(ps('rss=', pid));
  return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** Seconds of processor time that a process has used, of all its threads. */
export function processorSeconds(pid: number): number {
  if (process.platform === 'linux') {
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(afterName[11]) + Number(afterName[12])) / 100;
  }
  return ps('time=', pid)
    .split(/[:-]/)
    .reduce((sum, part) => 60 * sum + Number(part), 0);
}

function ps(column: string, pid: number): string {
  return execFileSync('ps', ['-o', column, '-p', String(pid)], { encoding: 'utf8' });
}

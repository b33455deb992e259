import process from 'node:process';

const HELD = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;
const IGNORED = ['SIGUSR1', 'SIGUSR2'] as const;

let arrived: NodeJS.Signals[] = [];

function holdSignal(name: NodeJS.Signals): void {
  arrived.push(name);
}

/**
 * Holds SIGHUP, SIGINT and SIGTERM until {@link releaseSignals}. While the program loads, they would end the process
 * with the wrong status; PID 1 would lose them. Ignores SIGUSR1 and SIGUSR2 from now on: Node opens its debugger at
 * SIGUSR1.
 */
export function holdSignals(): void {
  for (const name of HELD) process.on(name, holdSignal);
  for (const name of IGNORED) process.on(name, () => undefined);
}

/** Sends the held signals again. Signals without a listener have their default action. */
export function releaseSignals(): void {
  for (const name of HELD) process.off(name, holdSignal);
  for (const name of arrived) process.kill(process.pid, name);
  arrived = [];
}

export function onIgnoredSignal(ignored: (name: NodeJS.Signals) => void): void {
  for (const name of IGNORED) process.on(name, ignored);
}

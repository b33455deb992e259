import process from 'node:process';

const HELD = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;
const IGNORED = ['SIGUSR1', 'SIGUSR2'] as const;

/** The signals that arrived while they were held, in their order. */
let arrived: NodeJS.Signals[] = [];

function holdSignal(name: NodeJS.Signals): void {
  arrived.push(name);
}

/**
 * Holds SIGHUP, SIGINT and SIGTERM until {@link releaseSignals}: while the program loads, they would end the process without its
 * exit status, and be lost where it is PID 1. Ignores SIGUSR1 and SIGUSR2 from now on: Node opens its debugger at SIGUSR1.
 */
export function holdSignals(): void {
  for (const name of HELD) process.on(name, holdSignal);
  for (const name of IGNORED) process.on(name, () => undefined);
}

/** Sends the held signals again, to the listeners that the command now has, or with their usual effect where it has none. */
export function releaseSignals(): void {
  for (const name of HELD) process.off(name, holdSignal);
  for (const name of arrived) process.kill(process.pid, name);
  arrived = [];
}

/** Calls `ignored` with the name of each signal that {@link holdSignals} ignores. */
export function onIgnoredSignal(ignored: (name: NodeJS.Signals) => void): void {
  for (const name of IGNORED) process.on(name, ignored);
}

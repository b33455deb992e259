/**
 * Runs in the program before its own code: all its clocks and timers go faster by the factor in TIME_FACTOR. The wall clock
 * begins at the real time. What the kernel times, as a connection attempt, keeps its pace.
 */
const SCRIPT = `
import { syncBuiltinESMExports } from 'node:module';
import process from 'node:process';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { promisify } from 'node:util';

const factor = Number(process.env.TIME_FACTOR);
const RealDate = Date;
const realNow = Date.now.bind(Date);
const monotonic = performance.now.bind(performance);
const hrtime = process.hrtime.bind(process);
const nanoseconds = process.hrtime.bigint.bind(process.hrtime);

const wallStart = realNow();
const start = monotonic();
const hrStart = nanoseconds();
const fast = () => start + factor * (monotonic() - start);
const fastNanoseconds = () => hrStart + BigInt(factor) * (nanoseconds() - hrStart);
// From the monotonic clock, so that both go alike.
const wall = () => Math.floor(wallStart + factor * (monotonic() - start));

globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [wall()] : args));
  }
  static now() {
    return wall();
  }
};
performance.now = fast;
process.hrtime = (before) => {
  const now = fastNanoseconds();
  const since = before === undefined ? now : now - (BigInt(before[0]) * 1000000000n + BigInt(before[1]));
  return [Number(since / 1000000000n), Number(since % 1000000000n)];
};
process.hrtime.bigint = fastNanoseconds;

for (const name of ['setTimeout', 'setInterval']) {
  const real = timers[name];
  const realPromise = timersPromises[name];
  const faster = (action, delay, ...args) => real(action, (delay ?? 0) / factor, ...args);
  timersPromises[name] = (delay, ...args) => realPromise((delay ?? 0) / factor, ...args);
  if (name === 'setTimeout') faster[promisify.custom] = timersPromises[name];
  timers[name] = faster;
  globalThis[name] = faster;
}
const wait = timersPromises.scheduler.wait.bind(timersPromises.scheduler);
timersPromises.scheduler.wait = (delay, ...args) => wait(delay / factor, ...args);
const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (delay) => timeout(Math.ceil(delay / factor));
syncBuiltinESMExports();
`;

/** How to start a program whose clocks and timers go faster, by a whole factor of at most 60. */
export function spedUp(factor: number): {
  readonly nodeArgs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
} {
  if (!Number.isInteger(factor) || factor < 1 || factor > 60) throw new RangeError('the factor is from 1 to 60');
  return {
    nodeArgs: [`--import=data:text/javascript,${encodeURIComponent(SCRIPT)}`],
    env: { TIME_FACTOR: String(factor) },
  };
}

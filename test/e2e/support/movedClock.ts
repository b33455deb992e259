import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs in the program before its own code: its clocks are ahead by the milliseconds in the file named by CLOCK_AHEAD. Without one
 * they (hardly) move.
 */
const SCRIPT = `
import { readFileSync } from 'node:fs';
const { CLOCK_AHEAD: file, CLOCK_STANDS_AT: at = Date.now(), CLOCK_SPEED: speed = 1 / 60 } = process.env;
const ahead = () => (file === undefined ? 0 : Number(readFileSync(file, 'utf8') || 0));
function pace(now) {
  const start = now();
  return () => start + speed * (now() - start) + ahead();
}
performance.now = pace(performance.now.bind(performance));
const wall = pace(Date.now);
Date.now = () => Math.floor(wall());
if (at > 0) Date.now = () => Number(at) + ahead();
`;

/** Starts an exporter whose clocks (hardly) move, so that its window stays the same however long a test takes. */
export const SAME_WINDOW = { nodeArgs: [`--import=data:text/javascript,${encodeURIComponent(SCRIPT)}`] } as const;

/** How the program's clocks go by themselves. */
interface Pace {
  /**
   * The wall clock moves only when it is moved on, and the other one hardly, so that no window ends by itself: a test has
   * all the time it needs, however slow the machine is. Timers go on as ever.
   */
  readonly standsStill?: boolean;
  /** How fast the clocks go: 1 unless given, a minute in an hour where they stand still. */
  readonly speed?: number;
}

/** The middle of a minute, in Unix milliseconds. Near its end, a clock that hardly moves would still reach the next one. */
const middleOfMinute = (now: number): number => now - (now % 60_000) + 30_000;

/** The time of an exporter and a simulator that a test moves on, so that a new window costs no waiting. */
export class MovedClock {
  readonly #folder = mkdtempSync(join(tmpdir(), 'clock-'));
  readonly #file = join(this.#folder, 'ahead');
  readonly #pace: Pace;
  readonly #start: number;

  constructor(pace: Pace = {}) {
    this.#pace = pace;
    this.#start = pace.standsStill ? middleOfMinute(Date.now()) : Date.now();
    writeFileSync(this.#file, '0');
  }

  /** What starts an exporter with this clock. */
  get program(): { readonly nodeArgs: readonly string[]; readonly env: Readonly<Record<string, string>> } {
    const { standsStill = false, speed = standsStill ? 1 / 60 : 1 } = this.#pace;
    return {
      ...SAME_WINDOW,
      env: {
        CLOCK_AHEAD: this.#file,
        CLOCK_SPEED: String(speed),
        CLOCK_STANDS_AT: String(standsStill ? this.#start : 0),
      },
    };
  }

  /** For a simulator: it goes as the program's does. */
  readonly now = (): number => {
    const { standsStill = false, speed = 1 } = this.#pace;
    return this.#start + Math.floor(standsStill ? 0 : speed * (Date.now() - this.#start)) + this.#ahead;
  };

  minutesLater(minutes: number): void {
    // In one step: a program that reads an empty file would see its clocks go back.
    const next = `${this.#file}.next`;
    writeFileSync(next, String(this.#ahead + minutes * 60_000));
    renameSync(next, this.#file);
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #ahead(): number {
    return Number(readFileSync(this.#file, 'utf8'));
  }
}

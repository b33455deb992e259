import type { RestMemory } from './restMemory.ts';
import type { MetricDataSubject } from '../upstreamReader.ts';
import { UpstreamError, type MetricData, type Timeslice } from '../types.ts';

/** The most characters of query that one metric data call carries. */
export const MOST_CHARACTERS = 4_000;

/** What is tried once upstream has refused a longer list of names. */
const CAUTIOUS_NAMES = 10;

/** What else the query holds: the window and the switches. */
const REST_OF_QUERY = 100;

const PER_NAME = '&names[]='.length + 4; // The brackets travel percent-encoded.

/** The most characters that one of a name can travel as. */
const LONGEST_CHARACTER = '%E8%AA%9E'.length;

/**
 * Splits names over as few calls as the limits allow, in order. A single name too long for a call goes alone. Names that
 * surely fit are the list they came in.
 */
export function batches(names: readonly string[], mostNames: number): readonly (readonly string[])[] {
  if (names.length <= mostNames && longestQuery(names) <= MOST_CHARACTERS) return names.length === 0 ? [] : [names];
  const result: string[][] = [];
  let batch: string[] = [];
  let characters = REST_OF_QUERY;
  for (const name of names) {
    const length = PER_NAME + encodeURIComponent(name).length;
    if (batch.length > 0 && (batch.length >= mostNames || characters + length > MOST_CHARACTERS)) {
      result.push(batch);
      batch = [];
      characters = REST_OF_QUERY;
    }
    batch.push(name);
    characters += length;
  }
  if (batch.length > 0) result.push(batch);
  return result;
}

function longestQuery(names: readonly string[]): number {
  return names.reduce((sum, { length }) => sum + PER_NAME + length * LONGEST_CHARACTER, REST_OF_QUERY);
}

/**
 * Whose refused names are left out of a read: for an application its own, for one of its hosts those of all its hosts, too. What
 * is refused for a host may be right for the application, which has metrics that hosts do not have; the last one is where a
 * name that is refused now belongs.
 */
function omittedFrom({ applicationId, hostKey }: MetricDataSubject): readonly string[] {
  const own = `names of ${applicationId}`;
  return hostKey === undefined ? [own] : [own, `${own} hosts`];
}

/** Answers that may mean "too many names" or "not this name". */
const REFUSALS = new Set([400, 414, 422]);

interface SplitCalls {
  /** Reads these metric names of one application or host in one call. */
  readonly read: (names: readonly string[]) => Promise<MetricData>;
  /** Told of each name that is refused. */
  readonly refuse: (name: string) => void;
  /** Whether the account answers nothing at the moment. */
  readonly isCircuitOpen: () => boolean;
}

/**
 * Reads the metric data of any number of names in as few calls as possible (docs/interface.md, "Metric data calls"). A
 * refused list of more than ten names is read again ten at a time. What is refused then is about a name: it is found by
 * halving and left out for a while, and the other names stay.
 */
export class NameSplitting {
  readonly #memory: RestMemory;
  readonly #omitMs: number;

  /** @param omitMs how long a refused name is left out */
  constructor(memory: RestMemory, omitMs: number) {
    this.#memory = memory;
    this.#omitMs = omitMs;
  }

  /** How many calls the names of a subject take when nothing is refused. */
  calls(subject: MetricDataSubject): number {
    return batches(this.#allowed(subject), this.#memory.mostNames).length;
  }

  /**
   * The data, and the names that are not known because they are left out, now or since earlier. Rejects when any call fails for another reason than a
   * refusal, because half of the inputs would give wrong calculations. Rejects too when the first and the last of the names
   * are both refused before anything was answered: then it is not about a name.
   */
  async read(
    subject: MetricDataSubject,
    calls: SplitCalls,
  ): Promise<{ readonly data: MetricData; readonly refused: readonly string[] }> {
    const { names } = subject;
    let left = this.#allowed(subject);
    const refused = left === names ? [] : names.filter((name) => !left.includes(name));
    const [owner = ''] = omittedFrom(subject).slice(-1);
    const refuse = (name: string): void => {
      refused.push(name);
      this.#memory.failures.omit(owner, name, this.#omitMs);
      calls.refuse(name);
    };
    const reading = new SplitReading(names, { ...calls, refuse });
    while (left.length > 0) {
      // Cut anew for each call: the one before, or that of another subject, may have shown that lists must be shorter.
      const [batch = left] = batches(left, this.#memory.mostNames);
      if (await reading.isTooLong(batch)) this.#memory.mostNames = CAUTIOUS_NAMES;
      left = left.slice(batch.length);
    }
    const { data } = reading;
    // A name that was left out may have been asked for all the same, to tell a refusal of names from one of everything.
    return { data, refused: refused.filter((name) => !data.has(name)) };
  }

  /** The names that may be asked for now: the same list where all of them may. */
  #allowed(subject: MetricDataSubject): readonly string[] {
    const { failures } = this.#memory;
    const { names } = subject;
    if (!failures.hasOmissions) return names;
    const owners = omittedFrom(subject);
    const allowed = names.filter((name) => !owners.some((owner) => failures.isOmitted(owner, name)));
    return allowed.length === names.length ? names : allowed;
  }
}

/** One reading of one subject's names. */
class SplitReading {
  readonly data = new Map<string, readonly Timeslice[]>();
  /** Names that tell a refusal of names from one of everything. */
  readonly #samples: readonly string[];
  readonly #calls: SplitCalls;
  /** What became of each list that was asked for: none is asked for twice. */
  readonly #refusals = new Map<string, UpstreamError | undefined>();
  #isAnyRead = false;

  constructor(names: readonly string[], calls: SplitCalls) {
    this.#samples = [...names.slice(0, 1), ...names.slice(1).slice(-1)];
    this.#calls = calls;
  }

  /** Reads a list, in parts where it is refused. True when it was long and all of its parts were answered. */
  async isTooLong(batch: readonly string[]): Promise<boolean> {
    const refusal = await this.#refusal(batch);
    if (refusal === undefined) return false;
    // Where calls about others are refused, too, it is not about names.
    if (!this.#isAnyRead && this.#calls.isCircuitOpen()) throw refusal;
    return (await this.#readParts(batch, refusal)) && batch.length > CAUTIOUS_NAMES;
  }

  /** Reads a refused list in parts, down to the names that are refused. True when all of its parts were answered. */
  async #readParts(list: readonly string[], refusal: UpstreamError): Promise<boolean> {
    const isLong = list.length > CAUTIOUS_NAMES;
    if (!isLong) await this.#makeSureOfUpstream(refusal);
    const [only = ''] = list;
    if (list.length === 1) {
      this.#calls.refuse(only);
      return false;
    }
    const middle = Math.ceil(list.length / 2);
    let isAllRead = true;
    for (const part of isLong ? batches(list, CAUTIOUS_NAMES) : [list.slice(0, middle), list.slice(middle)]) {
      const refusedAgain = await this.#refusal(part);
      if (refusedAgain === undefined) continue;
      isAllRead = false;
      await this.#readParts(part, refusedAgain);
    }
    return isAllRead;
  }

  /** As long as nothing was answered, a refusal may be about the application or the window: then all calls would be. */
  async #makeSureOfUpstream(refusal: UpstreamError): Promise<void> {
    for (const sample of this.#samples) if (!this.#hasRead()) await this.#refusal([sample]);
    if (!this.#hasRead()) throw refusal;
  }

  #hasRead(): boolean {
    return this.#isAnyRead;
  }

  /** Reads names in one call; gives the refusal if that was the response. */
  async #refusal(names: readonly string[]): Promise<UpstreamError | undefined> {
    const key = names.join('\0');
    if (this.#refusals.has(key)) return this.#refusals.get(key);
    let refusal: UpstreamError | undefined;
    try {
      for (const [name, timeslices] of await this.#calls.read(names)) this.data.set(name, timeslices);
      this.#isAnyRead = true;
    } catch (error) {
      // A failure without a status, such as a timeout, refuses nothing.
      if (!(error instanceof UpstreamError) || !REFUSALS.has(error.failure.status ?? 0)) throw error;
      refusal = error;
    }
    this.#refusals.set(key, refusal);
    return refusal;
  }
}

import { isDeepStrictEqual } from 'node:util';
import type { RestMemory } from './restMemory.ts';
import { outcomeOf, type MetricDataSubject } from '../upstreamReader.ts';
import type { MetricData } from './restColumns.ts';
import type { UpstreamError } from '../types.ts';

/** Limit for the characters of the query of one metric data call. */
export const MAX_CHARACTERS = 4_000;

/** Names for each call after New Relic refused a longer list. */
const CAUTIOUS_NAMES = 10;

/** Characters of the rest of the query: the window and the switches. */
const REST_OF_QUERY = 100;

const PER_NAME = '&names[]='.length + 4; // The brackets travel percent-encoded.

/** Length of the longest encoding of one character of a name. */
const LONGEST_CHARACTER = '%E8%AA%9E'.length;

/**
 * Splits names into as few calls as the limits allow, in order. A single name that is too long gets a call of its own. If all
 * names certainly fit, the same list is returned.
 */
export function batches(names: readonly string[], maxNames: number): readonly (readonly string[])[] {
  if (names.length <= maxNames && longestQuery(names) <= MAX_CHARACTERS) return names.length === 0 ? [] : [names];
  const result: string[][] = [];
  let batch: string[] = [];
  let characters = REST_OF_QUERY;
  for (const name of names) {
    const length = PER_NAME + encodeURIComponent(name).length;
    if (batch.length > 0 && (batch.length >= maxNames || characters + length > MAX_CHARACTERS)) {
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
 * The owners whose refused names a read leaves out: the application, and for a host also the hosts of the application as one
 * owner. A name that is refused for a host may be valid for the application, which has metrics that hosts do not have. Newly
 * refused names are stored under the last owner.
 */
function omittedFrom({ applicationId, hostKey }: MetricDataSubject): readonly string[] {
  const own = `names of ${applicationId}`;
  return hostKey === undefined ? [own] : [own, `${own} hosts`];
}

/** Status codes that may mean "too many names" or "not this name". */
const REFUSALS = new Set([400, 414, 422]);

interface SplitCalls {
  /** Reads these metric names of one application or host in one call. */
  readonly read: (names: readonly string[]) => Promise<MetricData>;
  /** Called with each refused name. */
  readonly refuse: (name: string) => void;
  /** True while calls of the account fail in a row. */
  readonly isCircuitOpen: () => boolean;
}

/**
 * Reads the metric data of any number of names in as few calls as possible (docs/interface.md, "Metric data calls"). A refused
 * list of more than ten names is read again ten at a time. A shorter list is refused because of a name: its names are read one
 * by one, and the refused one is left out for a while.
 */
export class NameSplitting {
  readonly #memory: RestMemory;
  readonly #omitMs: number;

  /** @param omitMs how long a refused name is left out */
  constructor(memory: RestMemory, omitMs: number) {
    this.#memory = memory;
    this.#omitMs = omitMs;
  }

  /** The number of calls that the names of a subject take when nothing is refused. */
  calls(subject: MetricDataSubject): number {
    return batches(this.#allowed(subject), this.#memory.maxNames).length;
  }

  /**
   * Reads the data. `refused` are the names that this or an earlier read left out: their values are unknown. Rejects
   * when a call fails for another reason than a refusal, because incomplete inputs would give wrong calculations. Rejects too
   * when the first and the last name are both refused before anything was read, because the cause is then not a name.
   */
  async read(
    subject: MetricDataSubject,
    calls: SplitCalls,
  ): Promise<{ readonly data: MetricData; readonly refused: readonly string[] }> {
    const { names } = subject.metrics;
    let left = this.#allowed(subject);
    const refused = left === names ? [] : names.filter((name) => !left.includes(name));
    let data: MetricData | undefined;
    // The refusals of the lists that were requested, so that none is requested twice.
    const requested: { readonly list: readonly string[]; readonly refusal: UpstreamError | undefined }[] = [];
    const request = async (list: readonly string[]): Promise<UpstreamError | undefined> => {
      const before = requested.find((each) => isDeepStrictEqual(each.list, list));
      if (before !== undefined) return before.refusal;
      const outcome = await outcomeOf(calls.read(list));
      // A failure without a status, such as a timeout, is not a refusal.
      if ('error' in outcome && !REFUSALS.has(outcome.error.failure.status ?? 0)) throw outcome.error;
      const refusal = 'error' in outcome ? outcome.error : undefined;
      if ('value' in outcome) data = data === undefined ? outcome.value : new Map([...data, ...outcome.value]);
      requested.push({ list, refusal });
      return refusal;
    };
    /** Reads a refused list in parts, down to the refused names. True when all of its parts were read. */
    const readParts = async (list: readonly string[], refusal: UpstreamError): Promise<boolean> => {
      const isLong = list.length > CAUTIOUS_NAMES;
      // Until something was read, a refusal may concern the application or the window, and then every call would be refused.
      for (const sample of isLong ? [] : [names.slice(0, 1), names.slice(-1)]) {
        if (data === undefined) await request(sample);
      }
      if (!isLong && data === undefined) throw refusal;
      if (list.length === 1) {
        refused.push(...list);
        const owner = omittedFrom(subject).at(-1) ?? '';
        for (const name of list) this.#memory.failures.omit(owner, name, this.#omitMs);
        list.forEach(calls.refuse);
        return false;
      }
      let isAllRead = true;
      for (const part of batches(list, isLong ? CAUTIOUS_NAMES : 1)) {
        const again = await request(part);
        if (again === undefined) continue;
        isAllRead = false;
        await readParts(part, again);
      }
      return isAllRead;
    };
    while (left.length > 0) {
      // The names are split again before each call, because an earlier call, perhaps of another subject, may have lowered the
      // limit.
      const [batch = left] = batches(left, this.#memory.maxNames);
      const refusal = await request(batch);
      // If calls for other subjects fail too, the cause is not a name.
      if (refusal !== undefined && data === undefined && calls.isCircuitOpen()) throw refusal;
      if (refusal !== undefined && (await readParts(batch, refusal)) && batch.length > CAUTIOUS_NAMES) {
        this.#memory.maxNames = CAUTIOUS_NAMES;
      }
      left = left.slice(batch.length);
    }
    const found = data ?? new Map<string, never>();
    // A name that was left out may have been read as a sample, to distinguish a refused name from a refusal of everything.
    return { data: found, refused: refused.filter((name) => !found.has(name)) };
  }

  /** The names that are not left out; the same list if that is all of them. */
  #allowed(subject: MetricDataSubject): readonly string[] {
    const { failures } = this.#memory;
    const { names } = subject.metrics;
    if (!failures.hasOmissions) return names;
    const owners = omittedFrom(subject);
    const allowed = names.filter((name) => !owners.some((owner) => failures.isOmitted(owner, name)));
    return allowed.length === names.length ? names : allowed;
  }
}

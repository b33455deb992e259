import type { Account } from './account.ts';
import { CellBatch, cellsOf } from './cellBatch.ts';
import type { Wanted } from './cellBatch.ts';
import type { Fleet } from './fleet.ts';
import { ITSELF } from './found.ts';
import { all, any, equals, filled, isLike, isNull } from './nrql.ts';
import { MOST_ROWS } from './plan.ts';
import type { Terms } from './terms.ts';
import type { Timeslices } from './timeslices.ts';
import type { Transport } from './transport.ts';
import { readUniqueNames } from './uniqueNames.ts';
import { UpstreamError } from '../errors.ts';
import type { Batch, BatchRead, CallOptions, CustomNamesSubject, Outcome, TimeRange } from '../reader.ts';

const DAY = 86_400;
const GROUP = 'custom_metrics';
const OPTIONS = { kind: 'custom names', byHost: false, mostRows: MOST_ROWS } as const;

/** Reads which metric names of the day before the end of the range contain given texts, of many applications at a time. */
export class CustomNamesRead implements BatchRead<CustomNamesSubject, readonly string[]> {
  readonly #transport: Transport;
  readonly #account: Account;
  readonly #timeslices: Timeslices;
  readonly #fleet: Fleet;
  readonly #terms: Terms;

  constructor(transport: Transport, account: Account, timeslices: Timeslices, fleet: Fleet, terms: Terms) {
    this.#transport = transport;
    this.#account = account;
    this.#timeslices = timeslices;
    this.#fleet = fleet;
    this.#terms = terms;
  }

  open(): Batch<CustomNamesSubject> {
    return new CellBatch(
      this.#fleet,
      (subject) => this.#wanted(subject),
      () => OPTIONS,
    );
  }

  async read(
    subjects: readonly CustomNamesSubject[],
    { to }: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<readonly string[]>[]> {
    const range = { from: to - DAY, to };
    const asking = subjects.filter(({ filters }) => filters.length > 0);
    const cells = cellsOf(asking.map((subject) => this.#wanted(subject)));
    const found = await this.#timeslices.read(cells, { ...OPTIONS, group: GROUP, range }, call);
    return Promise.all(
      subjects.map(async (subject): Promise<Outcome<readonly string[]>> => {
        const entity = found.get(subject.applicationId);
        // More names than rows fit into an answer: a list of names has room for more.
        if (entity?.tooMany === true) return this.#readAlone(subject, range, call);
        const failure = entity?.failureOf(ITSELF);
        if (failure !== undefined) return { error: failure };
        const names = [...(entity?.rows.get(ITSELF)?.keys() ?? [])].filter((name) => contains(name, subject.filters));
        if (subject.filters.length > 0) this.#fleet.sawMatches(subject.applicationId, names.length);
        return { value: names.sort() };
      }),
    );
  }

  async #readAlone(
    { applicationId, filters }: CustomNamesSubject,
    range: TimeRange,
    call: CallOptions,
  ): Promise<Outcome<readonly string[]>> {
    const patterns = filled(filters.map((filter) => isLike('metricTimesliceName', `%${filter}%`)));
    if (patterns === undefined) return { value: [] };
    const where = all([equals('appId', applicationId), isNull('scope'), any(patterns)]);
    try {
      const names = await readUniqueNames(this.#transport, this.#account, { group: GROUP, where, range }, call);
      return { value: names.filter((name) => contains(name, filters)) };
    } catch (error) {
      if (error instanceof UpstreamError) return { error };
      throw error;
    }
  }

  #wanted({ applicationId, filters }: CustomNamesSubject): Wanted {
    const patterns = [...new Set(filters)].sort().map((text) => ({ text: `%${text}%`, like: true, unscoped: true }));
    return { applicationId, host: undefined, terms: this.#terms.of([], patterns) };
  }
}

function contains(name: string, filters: readonly string[]): boolean {
  return filters.some((filter) => name.includes(filter));
}

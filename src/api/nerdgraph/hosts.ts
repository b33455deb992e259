import { CellBatch, cellsOf } from './cellBatch.ts';
import type { Wanted } from './cellBatch.ts';
import type { Fleet } from './fleet.ts';
import { SIGN_OF_LIFE, WEB } from './metricNames.ts';
import { MOST_ROWS } from './plan.ts';
import type { Term } from './part.ts';
import type { Terms } from './terms.ts';
import type { Timeslices } from './timeslices.ts';
import type { ApplicationSubject, Batch, BatchRead, CallOptions, Outcome, TimeRange } from '../reader.ts';
import type { Host } from '../types.ts';

const HOUR = 3_600;
const OPTIONS = { kind: 'host lists', byHost: true, mostRows: MOST_ROWS } as const;

/** Reads which hosts reported in the hour before the end of the range: the interface has no list of hosts. */
export class HostsRead implements BatchRead<ApplicationSubject, readonly Host[]> {
  readonly #timeslices: Timeslices;
  readonly #fleet: Fleet;
  readonly #terms: readonly Term[];

  constructor(timeslices: Timeslices, fleet: Fleet, terms: Terms) {
    this.#timeslices = timeslices;
    this.#fleet = fleet;
    this.#terms = terms.of([SIGN_OF_LIFE, WEB]);
  }

  open(): Batch<ApplicationSubject> {
    return new CellBatch(
      this.#fleet,
      (subject) => this.#wanted(subject),
      () => OPTIONS,
    );
  }

  async read(
    subjects: readonly ApplicationSubject[],
    { to }: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<readonly Host[]>[]> {
    const query = { ...OPTIONS, group: 'hosts', range: { from: to - HOUR, to } } as const;
    const cells = cellsOf(subjects.map((subject) => this.#wanted(subject)));
    const found = await this.#timeslices.read(cells, query, call);
    return subjects.map(({ applicationId }) => {
      const entity = found.get(applicationId);
      const failure = entity?.failure ?? [...(entity?.failures.values() ?? [])][0];
      if (failure !== undefined) return { error: failure };
      const names = [...(entity?.rows.keys() ?? [])].sort();
      this.#fleet.sawHosts(applicationId, names.length);
      return { value: names.map((host) => this.#toHost(host, applicationId)) };
    });
  }

  /** The interface gives hosts no id of their own: the name is what tells them apart. */
  #toHost(host: string, applicationId: number): Host {
    const language = this.#fleet.language(applicationId);
    return { key: host, host, language, healthStatus: undefined, summary: undefined };
  }

  #wanted({ applicationId }: ApplicationSubject): Wanted {
    return { applicationId, host: undefined, terms: this.#terms };
  }
}

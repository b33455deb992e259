import { countCalls } from '../batches.ts';
import { nextCell, cellsOf, type Wanted, type Fleet, MOST_ROWS, type PlanOptions } from './batching.ts';
import { SIGN_OF_LIFE, WEB, type Terms } from './terms.ts';
import type { Term } from './part.ts';
import type { Timeslices } from './timeslices.ts';
import type {
  ApplicationSubject,
  BatchRead,
  CallOptions,
  Outcome,
  TimeRange,
  MetricDataAnswer,
  MetricDataSubject,
  NextCall,
} from '../reader.ts';
import type { Host } from '../types.ts';
import { ITSELF, type Found, FirstRows, type Row } from './rows.ts';
import { answerOf, NEED_SQUARES } from './rowValues.ts';
import { inTurns } from '../../eventLoop/turns.ts';

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

  nextCall(subjects: readonly ApplicationSubject[]): NextCall {
    return nextCell(
      subjects,
      this.#fleet,
      (subject) => this.#wanted(subject),
      () => OPTIONS,
    );
  }

  callsFor(subjects: readonly ApplicationSubject[], range: TimeRange): number {
    return countCalls(this, subjects, range);
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

/** So many are put together before other work gets its turn. */
const SUBJECTS_PER_TURN = 25;

const NO_ROWS: ReadonlyMap<string, readonly Row[]> = new Map();

/** Reads summarized metric data of applications or of hosts, one query for many. */
export class MetricDataRead implements BatchRead<MetricDataSubject, MetricDataAnswer> {
  readonly #timeslices: Timeslices;
  readonly #fleet: Fleet;
  readonly #terms: Terms;

  constructor(timeslices: Timeslices, fleet: Fleet, terms: Terms) {
    this.#timeslices = timeslices;
    this.#fleet = fleet;
    this.#terms = terms;
  }

  nextCall(subjects: readonly MetricDataSubject[]): NextCall {
    return nextCell(subjects, this.#fleet, (subject) => wantedOf(subject, this.#terms), optionsOf);
  }

  callsFor(subjects: readonly MetricDataSubject[], range: TimeRange): number {
    return countCalls(this, subjects, range);
  }

  async read(
    subjects: readonly MetricDataSubject[],
    range: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<MetricDataAnswer>[]> {
    const found = await readByScope(subjects, (some, options) => {
      const cells = cellsOf(some.map((subject) => wantedOf(subject, this.#terms)));
      const query = { ...options, group: groupOf(some[0]), range, squares: some.some(needsSquares) };
      return this.#timeslices.read(cells, query, call);
    });
    for (const [index, subject] of subjects.entries()) {
      if (index === 0 || subject.applicationId !== subjects[index - 1]?.applicationId) this.#learn(subject, found);
    }
    const outcomes: Outcome<MetricDataAnswer>[] = [];
    await inTurns(subjects, SUBJECTS_PER_TURN, (subject) => {
      const entity = found(subject);
      const failure = entity?.failureOf(subject.hostKey ?? ITSELF);
      if (failure !== undefined) {
        outcomes.push({ error: failure });
        return;
      }
      const rows = entity?.rows.get(subject.hostKey ?? ITSELF) ?? NO_ROWS;
      outcomes.push({ value: answerOf(new FirstRows(rows), subject.names, range, subject.values) });
    });
    return outcomes;
  }

  /** How many datastore metrics an application has decides how many applications fit into the next query. */
  #learn(subject: MetricDataSubject, found: (subject: MetricDataSubject) => Found | undefined): void {
    const datastores = found(subject)?.datastores();
    if (datastores !== undefined) this.#fleet.sawDatastores(subject.applicationId, datastores);
  }
}

/** By what tells the wanted values of a metric; many subjects share it. */
const squares = new WeakMap<(metricName: string) => readonly string[], boolean>();

/** Only values that custom metrics may have need the sum of squares. */
export function needsSquares({ names, values }: MetricDataSubject): boolean {
  if (values === undefined) return true;
  let needed = squares.get(values);
  if (needed === undefined) {
    needed = names.some((name) => values(name).some((value) => NEED_SQUARES.has(value)));
    squares.set(values, needed);
  }
  return needed;
}

export function wantedOf({ applicationId, hostKey, names }: MetricDataSubject, terms: Terms): Wanted {
  const scope = hostKey === undefined ? 'application' : 'host';
  return { applicationId, host: hostKey, terms: terms.ofMetricData(names, scope) };
}

export function groupOf(subject: MetricDataSubject | undefined): 'application_metrics' | 'host_metrics' {
  return subject?.hostKey === undefined ? 'application_metrics' : 'host_metrics';
}

export function optionsOf(subject: MetricDataSubject): PlanOptions {
  return { kind: groupOf(subject), byHost: subject.hostKey !== undefined, mostRows: MOST_ROWS };
}

/** Applications and hosts need queries of their own. Gives what was found of a subject. */
export async function readByScope(
  subjects: readonly MetricDataSubject[],
  read: (some: readonly MetricDataSubject[], options: PlanOptions) => Promise<ReadonlyMap<number, Found>>,
): Promise<(subject: MetricDataSubject) => Found | undefined> {
  const found = await Promise.all(
    [false, true].map(async (hosts) => {
      const some = subjects.filter(({ hostKey }) => (hostKey !== undefined) === hosts);
      const [first] = some;
      return first === undefined ? new Map<number, Found>() : read(some, optionsOf(first));
    }),
  );
  return ({ applicationId, hostKey }) => found[hostKey === undefined ? 0 : 1]?.get(applicationId);
}

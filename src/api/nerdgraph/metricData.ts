import { CellBatch, cellsOf } from './cellBatch.ts';
import type { Wanted } from './cellBatch.ts';
import type { Fleet } from './fleet.ts';
import { ITSELF } from './found.ts';
import type { Found } from './found.ts';
import { MOST_ROWS } from './plan.ts';
import type { PlanOptions } from './plan.ts';
import { FirstRows } from './row.ts';
import type { Row } from './row.ts';
import type { Terms } from './terms.ts';
import type { Timeslices } from './timeslices.ts';
import { answerOf, NEED_SQUARES } from './values.ts';
import type {
  Batch,
  BatchRead,
  CallOptions,
  MetricDataAnswer,
  MetricDataSubject,
  Outcome,
  TimeRange,
} from '../reader.ts';
import { inTurns } from '../../eventLoop/turns.ts';

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

  open(): Batch<MetricDataSubject> {
    return new CellBatch(this.#fleet, (subject) => wantedOf(subject, this.#terms), optionsOf);
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

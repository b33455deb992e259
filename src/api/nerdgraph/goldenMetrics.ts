import type { AccountMemory } from './accountMemory.ts';
import { Size, type QueryKind, type QueryPart } from './batching.ts';
import { MetricSelector } from './metricSelector.ts';
import type { SubjectRows } from './rows.ts';
import type { Timeslices } from './timeslices.ts';
import { sourceKey, type GoldenSource } from '../../nrql/goldenMetric.ts';
import { numberOf, percentilesOf } from '../../nrql/queryRows.ts';
import type {
  BatchRead,
  CallOptions,
  GoldenResult,
  GoldenSubject,
  Outcome,
  PlannedCall,
  TimeRange,
} from '../upstreamReader.ts';
import type { UpstreamError } from '../types.ts';

/** The kinds of data under which failing entities, and failing columns, are remembered. */
const NAME = 'golden metrics';
const COLUMN = 'golden metric';

/** The results of an entity while its sources are read concurrently. */
interface Gathered {
  window: TimeRange | undefined;
  readonly values: Map<string, readonly { readonly percentile: string | undefined; readonly value: number }[]>;
  readonly failures: Map<string, UpstreamError>;
  readonly notNumbers: string[];
}

/**
 * Reads golden metrics: one query per source reads many entities. A column that breaks queries fails alone and is remembered: later
 * it is read in a query of its own, for one entity first. An entity that breaks queries is later read alone.
 */
export class GoldenMetricsRead implements BatchRead<GoldenSubject, GoldenResult> {
  readonly #timeslices: Timeslices;
  readonly #kinds = new WeakMap<GoldenSource, QueryKind>();
  /** The requested columns of an entity by source; entities with equal columns share one object. */
  readonly #selectors = new WeakMap<GoldenSubject['columns'], ReadonlyMap<GoldenSource, MetricSelector>>();

  constructor(timeslices: Timeslices) {
    this.#timeslices = timeslices;
  }

  plan(subjects: Iterable<GoldenSubject>, range: TimeRange): PlannedCall<GoldenResult> {
    const { failures } = this.#memory;
    const sizes = new Map<GoldenSource, Size>();
    const taken: GoldenSubject[] = [];
    for (const subject of subjects) {
      const { type, window, guid } = subject;
      const [first = subject] = taken;
      if (type !== first.type || window !== first.window) break;
      if (taken.length > 0 && (failures.isSuspect(NAME, guid) || failures.isSuspect(NAME, first.guid))) break;
      let fits = true;
      for (const [source, selector] of this.#selectorsOf(subject)) {
        const size = sizes.get(source) ?? new Size(this.#memory, this.#kindOf(source));
        sizes.set(source, size);
        size.add(partOf(subject, selector));
        fits &&= size.fits;
      }
      if (taken.length > 0 && !fits) break;
      taken.push(subject);
    }
    if (taken.length === 0) throw new RangeError('no subjects');
    return {
      count: taken.length,
      calls: Math.max(1, sizes.size),
      read: (call) => this.#read(taken, range, call),
    };
  }

  async #read(
    subjects: readonly GoldenSubject[],
    range: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<GoldenResult>[]> {
    const window = subjects[0]?.window;
    const asked = window === undefined ? range : { from: range.to - window, to: range.to };
    const gathered = new Map(
      subjects.map(({ guid }): [string, Gathered] => [
        guid,
        { window: undefined, values: new Map(), failures: new Map(), notNumbers: [] },
      ]),
    );
    const bySource = new Map<GoldenSource, GoldenSubject[]>();
    for (const subject of subjects) {
      for (const source of this.#selectorsOf(subject).keys()) {
        const sharing = bySource.get(source);
        if (sharing === undefined) bySource.set(source, [subject]);
        else sharing.push(subject);
      }
    }
    const reads = [...bySource].map(([source, sharing]) => this.#readSource(source, sharing, asked, gathered, call));
    await Promise.all(reads);
    return subjects.map(({ guid, columns }): Outcome<GoldenResult> => {
      const own = gathered.get(guid);
      const [error] = own?.failures.values() ?? [];
      // Readable metrics are published, because one bad definition must not hide the others.
      if (own === undefined || (error !== undefined && own.failures.size === columns.length)) {
        return { error: error ?? this.#timeslices.account.transport.invalid('golden_metrics', 'nothing was read') };
      }
      return { value: { ...own, window: own.window ?? asked } };
    });
  }

  get #memory(): AccountMemory {
    return this.#timeslices.account.memory;
  }

  #kindOf(source: GoldenSource): QueryKind {
    let kind = this.#kinds.get(source);
    if (kind === undefined) {
      kind = { name: NAME, group: 'golden_metrics', groupBy: 'entity', golden: source };
      this.#kinds.set(source, kind);
    }
    return kind;
  }

  #selectorsOf({ columns }: GoldenSubject): ReadonlyMap<GoldenSource, MetricSelector> {
    let selectors = this.#selectors.get(columns);
    if (selectors === undefined) {
      const selects = new Map<GoldenSource, Set<string>>();
      for (const { source, select } of columns) {
        const ofSource = selects.get(source) ?? new Set();
        selects.set(source, ofSource.add(select));
      }
      selectors = new Map([...selects].map(([source, of]) => [source, new MetricSelector([...of], [], false)]));
      this.#selectors.set(columns, selectors);
    }
    return selectors;
  }

  async #readSource(
    source: GoldenSource,
    subjects: readonly GoldenSubject[],
    range: TimeRange,
    gathered: ReadonlyMap<string, Gathered>,
    call: CallOptions,
  ): Promise<void> {
    const { failures } = this.#memory;
    const all = new Set(subjects.flatMap((subject) => this.#selectorsOf(subject).get(source)?.names ?? []));
    const alone = [...all].filter((select) => failures.isSuspect(COLUMN, columnKey(source, select)));
    const together = [...all].filter((select) => !alone.includes(select));
    await Promise.all([
      this.#readColumns(source, together, subjects, range, gathered, call),
      ...alone.map((select) => this.#readAlone(source, select, subjects, range, gathered, call)),
    ]);
  }

  /** Reads columns of one source for all of these entities, and remembers the columns that break queries. */
  async #readColumns(
    source: GoldenSource,
    selects: readonly string[],
    subjects: readonly GoldenSubject[],
    range: TimeRange,
    gathered: ReadonlyMap<string, Gathered>,
    call: CallOptions,
  ): Promise<void> {
    const wanted = new Set(selects);
    const narrowed = new Map<MetricSelector, MetricSelector>();
    const parts = subjects.flatMap((subject): QueryPart[] => {
      const whole = this.#selectorsOf(subject).get(source);
      if (whole === undefined) return [];
      const names = whole.names.filter((name) => wanted.has(name));
      if (names.length === 0) return [];
      if (names.length === whole.names.length) return [partOf(subject, whole)];
      const selector = narrowed.get(whole) ?? new MetricSelector(names, [], false);
      narrowed.set(whole, selector);
      return [partOf(subject, selector)];
    });
    if (parts.length === 0) return;
    const query = { ...this.#kindOf(source), range };
    const found = await this.#timeslices.read(this.#timeslices.plan(parts, query), query, call);
    for (const subject of subjects) {
      const rows = found.get(subject.guid);
      const own = gathered.get(subject.guid);
      if (rows === undefined || own === undefined) continue;
      own.window ??= rows.window;
      for (const { name, source: other, select } of subject.columns) {
        if (other === source && wanted.has(select)) take(name, select, rows, own);
      }
    }
    this.#remember(source, selects, [...found.values()], call);
  }

  /** A suspect column is read for one entity first, and for the others once it succeeds. */
  async #readAlone(
    source: GoldenSource,
    select: string,
    subjects: readonly GoldenSubject[],
    range: TimeRange,
    gathered: ReadonlyMap<string, Gathered>,
    call: CallOptions,
  ): Promise<void> {
    const { failures } = this.#memory;
    const key = columnKey(source, select);
    const namesOf = ({ columns }: GoldenSubject): readonly string[] =>
      columns.flatMap((each) => (each.source === source && each.select === select ? [each.name] : []));
    const having = subjects.filter((subject) => namesOf(subject).length > 0);
    const [first, ...others] = having;
    if (first === undefined) return;
    const before = failures.tooManyFailures(COLUMN, key, undefined);
    if (before === undefined) {
      await this.#readColumns(source, [select], [first], range, gathered, call);
    }
    const error = before ?? gathered.get(first.guid)?.failures.get(namesOf(first)[0] ?? '');
    if (error === undefined) {
      failures.recordSuccess(COLUMN, key);
      await this.#readColumns(source, [select], others, range, gathered, call);
      return;
    }
    if (before === undefined) failures.recordOwnFailure(COLUMN, key, undefined, error);
    for (const subject of having) {
      for (const name of namesOf(subject)) gathered.get(subject.guid)?.failures.set(name, error);
    }
  }

  /** Remembers columns that made a query fail while others succeeded, and a single column that failed for every entity. */
  #remember(source: GoldenSource, selects: readonly string[], found: readonly SubjectRows[], call: CallOptions): void {
    const { failures } = this.#memory;
    const broken = new Set(found.flatMap(({ columnFailures }) => [...columnFailures.keys()]));
    const [only, ...others] = selects;
    const isSilent = this.#timeslices.account.transport.http.isCircuitOpen(call);
    if (only !== undefined && others.length === 0 && !isSilent && found.every(({ failure }) => isOfQuery(failure))) {
      broken.add(only);
    }
    for (const select of broken) failures.recordFailure(COLUMN, columnKey(source, select));
  }
}

/** True for an error that the query itself causes, not a temporary one, nor one of the account. */
function isOfQuery(failure: UpstreamError | undefined): boolean {
  return failure?.failure.reason === 'other' || failure?.failure.reason === 'invalid_response';
}

function partOf({ guid, type }: GoldenSubject, selector: MetricSelector): QueryPart {
  return { id: guid, selector, hosts: undefined, namesHosts: false, called: `${type} ${guid}` };
}

function columnKey(source: GoldenSource, select: string): string {
  return `${sourceKey(source)} ${select}`;
}

/** Stores one golden metric of an entity. Null, and a missing row, mean that it has no value. */
function take(name: string, select: string, rows: SubjectRows, own: Gathered): void {
  const failure = rows.failure ?? rows.columnFailures.get(select);
  if (failure !== undefined) {
    own.failures.set(name, failure);
    return;
  }
  const written = rows.columns.get(select) ?? null;
  const value = numberOf(written, 1);
  if (value === null) return;
  if (value !== undefined) {
    own.values.set(name, [{ percentile: undefined, value }]);
    return;
  }
  const { numbers, isBad } = percentilesOf(written, 1);
  if (isBad) own.notNumbers.push(name);
  // A single percentile, as of `percentile(x, 75)`, is published without the label `percentile`.
  const isOne = typeof written === 'object' && written !== null && Object.keys(written).length === 1;
  const read = [...numbers].map(([percentile, each]) => ({ percentile: isOne ? undefined : percentile, value: each }));
  if (read.length > 0) own.values.set(name, read);
}

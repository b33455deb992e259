import { Size, type QueryKind, type QueryPart } from './batching.ts';
import { MetricSelector } from './metricSelector.ts';
import type { SubjectRows } from './rows.ts';
import type { Timeslices } from './timeslices.ts';
import { sourceKey, type GoldenSource } from '../../nrql/goldenMetric.ts';
import { numberOf, percentilesOf } from '../../nrql/queryRows.ts';
import type { BatchRead, CallOptions, GoldenResult, GoldenSubject, Outcome, TimeRange } from '../upstreamReader.ts';
import type { UpstreamError } from '../types.ts';

/** The kinds of data under which failing entities, and failing columns, are remembered. */
const NAME = 'golden metrics';
const COLUMN = 'golden metric';

/** An entity of a call, and the results for it while its sources are read concurrently. */
interface Asked {
  readonly subject: GoldenSubject;
  /** The selected columns of each of its sources. */
  readonly selectors: Selectors;
  window: TimeRange | undefined;
  readonly values: Map<string, readonly { readonly percentile: string | undefined; readonly value: number }[]>;
  readonly failures: Map<string, UpstreamError>;
  readonly notNumbers: string[];
}

type Selectors = ReadonlyMap<GoldenSource, MetricSelector>;

/**
 * Reads golden metrics: one query per source reads many entities. A column that breaks queries fails alone and is remembered: later
 * it is read in a query of its own, for one entity first. An entity that breaks queries is later read alone.
 */
export function goldenMetricsRead(timeslices: Timeslices): BatchRead<GoldenSubject, GoldenResult> {
  return {
    plan: (subjects, range) => {
      const { failures } = timeslices.account.memory;
      const sizes = new Map<GoldenSource, Size>();
      // Entities with the same columns share one object, and so one selector of each source.
      const known = new Map<GoldenSubject['columns'], Selectors>();
      const taken: Asked[] = [];
      for (const subject of subjects) {
        const { type, window, guid, columns } = subject;
        const { subject: first } = taken[0] ?? { subject };
        if (type !== first.type || window !== first.window) break;
        if (taken.length > 0 && failures.isSuspect(NAME, first.guid)) break;
        if (taken.length > 0 && failures.isSuspect(NAME, guid)) continue;
        const selectors = known.get(columns) ?? selectorsOf(columns);
        known.set(columns, selectors);
        let fits = true;
        for (const [source, selector] of selectors) {
          const size = sizes.get(source) ?? new Size(timeslices.account.memory, kindOf(source));
          sizes.set(source, size);
          size.add(partOf(subject, selector));
          fits &&= size.fits;
        }
        if (taken.length > 0 && !fits) break;
        taken.push({ subject, selectors, window: undefined, values: new Map(), failures: new Map(), notNumbers: [] });
      }
      const [first] = taken;
      if (first === undefined) throw new RangeError('no subjects');
      const { window } = first.subject;
      const asked = window === undefined ? range : { from: range.to - window, to: range.to };
      return {
        subjects: taken.map(({ subject }) => subject),
        calls: Math.max(1, sizes.size),
        read: (call) => new GoldenRead(timeslices, asked, call).read(taken),
      };
    },
  };
}

function kindOf(source: GoldenSource): QueryKind {
  return { name: NAME, group: 'golden_metrics', groupBy: 'entity', golden: source };
}

function selectorsOf(columns: GoldenSubject['columns']): Selectors {
  const selects = new Map<GoldenSource, Set<string>>();
  for (const { source, select } of columns) selects.set(source, (selects.get(source) ?? new Set()).add(select));
  return new Map([...selects].map(([source, of]) => [source, new MetricSelector([...of])]));
}

/** One read of the golden metrics of some entities. */
class GoldenRead {
  readonly #timeslices: Timeslices;
  readonly #range: TimeRange;
  readonly #call: CallOptions;

  constructor(timeslices: Timeslices, range: TimeRange, call: CallOptions) {
    this.#timeslices = timeslices;
    this.#range = range;
    this.#call = call;
  }

  async read(all: readonly Asked[]): Promise<readonly Outcome<GoldenResult>[]> {
    const sources = new Set(all.flatMap(({ selectors }) => [...selectors.keys()]));
    await Promise.all(
      Array.from(sources, (source) =>
        this.#readSource(
          source,
          all.filter(({ selectors }) => selectors.has(source)),
        ),
      ),
    );
    return all.map(({ subject, window, values, failures, notNumbers }) => {
      const [error] = failures.values();
      // Readable metrics are published, because one bad definition must not hide the others.
      if (error !== undefined && failures.size === subject.columns.length) return { error };
      return { value: { window: window ?? this.#range, values, failures, notNumbers } };
    });
  }

  async #readSource(source: GoldenSource, entities: readonly Asked[]): Promise<void> {
    const { failures } = this.#timeslices.account.memory;
    const all = new Set(entities.flatMap(({ selectors }) => selectors.get(source)?.names ?? []));
    const alone = [...all].filter((select) => failures.isSuspect(COLUMN, columnKey(source, select)));
    const together = [...all].filter((select) => !alone.includes(select));
    await Promise.all([
      this.#readColumns(source, together, entities),
      ...alone.map((select) => this.#readAlone(source, select, entities)),
    ]);
  }

  /** Reads columns of one source for all of these entities, and remembers the columns that break queries. */
  async #readColumns(source: GoldenSource, selects: readonly string[], entities: readonly Asked[]): Promise<void> {
    const wanted = new Set(selects);
    const narrowed = new Map<MetricSelector, MetricSelector>();
    const parts = entities.flatMap(({ subject, selectors }): QueryPart[] => {
      const whole = selectors.get(source);
      if (whole === undefined) return [];
      const names = whole.names.filter((name) => wanted.has(name));
      if (names.length === 0) return [];
      if (names.length === whole.names.length) return [partOf(subject, whole)];
      const selector = narrowed.get(whole) ?? new MetricSelector(names);
      narrowed.set(whole, selector);
      return [partOf(subject, selector)];
    });
    if (parts.length === 0) return;
    const query = { ...kindOf(source), range: this.#range };
    const found = await this.#timeslices.read(this.#timeslices.plan(parts, query), query, this.#call);
    for (const asked of entities) {
      const rows = found.get(asked.subject.guid);
      if (rows === undefined) continue;
      asked.window ??= rows.window;
      for (const { name, source: other, select } of asked.subject.columns) {
        if (other === source && wanted.has(select)) take(name, select, rows, asked);
      }
    }
    this.#remember(source, selects, [...found.values()]);
  }

  /** A suspect column is read for one entity first, and for the others once it succeeds. */
  async #readAlone(source: GoldenSource, select: string, entities: readonly Asked[]): Promise<void> {
    const { failures } = this.#timeslices.account.memory;
    const key = columnKey(source, select);
    const namesOf = ({ subject: { columns } }: Asked): readonly string[] =>
      columns.flatMap((each) => (each.source === source && each.select === select ? [each.name] : []));
    const having = entities.filter((asked) => namesOf(asked).length > 0);
    const [first, ...others] = having;
    if (first === undefined) return;
    const before = failures.tooManyFailures(COLUMN, key, undefined);
    if (before === undefined) await this.#readColumns(source, [select], [first]);
    const error = before ?? first.failures.get(namesOf(first)[0] ?? '');
    if (error === undefined) {
      failures.recordSuccess(COLUMN, key);
      await this.#readColumns(source, [select], others);
      return;
    }
    if (before === undefined) failures.recordOwnFailure(COLUMN, key, undefined, error);
    for (const asked of having) for (const name of namesOf(asked)) asked.failures.set(name, error);
  }

  /** Remembers columns that made a query fail while others succeeded, and a single column that failed for every entity. */
  #remember(source: GoldenSource, selects: readonly string[], found: readonly SubjectRows[]): void {
    const { memory, transport } = this.#timeslices.account;
    const broken = new Set(found.flatMap(({ columnFailures }) => [...columnFailures.keys()]));
    const [only, ...others] = selects;
    const isSilent = transport.http.isCircuitOpen(this.#call);
    if (only !== undefined && others.length === 0 && !isSilent && found.every(({ failure }) => isOfQuery(failure))) {
      broken.add(only);
    }
    for (const select of broken) memory.failures.recordFailure(COLUMN, columnKey(source, select));
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
function take(name: string, select: string, rows: SubjectRows, own: Asked): void {
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

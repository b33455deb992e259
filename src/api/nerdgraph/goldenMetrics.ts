import { beginningAt, Size, type QueryKind, type QueryPart } from './batching.ts';
import type { AccountMemory } from './accountMemory.ts';
import { MetricSelector } from './metricSelector.ts';
import type { SubjectRows } from './rows.ts';
import { planLater, planTimeslices, type PlannedQueries } from './timeslices.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { sourceKey, type GoldenSource } from '../../nrql/goldenMetric.ts';
import { numberOf, percentilesOf } from '../../nrql/queryRows.ts';
import type { BatchRead, CallOptions, GoldenResult, GoldenSubject, GoldenValue, TimeRange } from '../upstreamReader.ts';
import type { UpstreamError } from '../types.ts';

/** The kinds under which failures of entities, and failures of columns, are remembered. */
const ENTITY_KIND = 'golden metrics';
const COLUMN_KIND = 'golden metric';

/** An entity of a call, and the results for it, while its sources are read concurrently. */
interface Entity {
  readonly subject: GoldenSubject;
  /** The selected columns of each of its sources. */
  readonly selectors: Selectors;
  window: TimeRange | undefined;
  readonly values: Map<string, readonly GoldenValue[]>;
  readonly failures: Map<string, UpstreamError>;
  readonly notNumbers: string[];
}

type Selectors = ReadonlyMap<GoldenSource, MetricSelector>;

/**
 * Reads golden metrics: one query per source reads many entities. A column that breaks queries fails alone and is remembered: later
 * it is read in a query of its own, for one entity first. An entity that breaks queries is later read alone.
 */
export function goldenMetricsRead(account: NerdGraphAccount): BatchRead<GoldenSubject, GoldenResult> {
  return {
    plan: (subjects, range) => {
      const entities = takeEntities(account.memory, subjects);
      const { window } = entities[0].subject;
      const queried = window === undefined ? range : { from: range.to - window, to: range.to };
      const sources = new Set(entities.flatMap(({ selectors }) => [...selectors.keys()]));
      const reads = Array.from(sources, (source) => new SourceRead(account, source, entities, queried));
      const calls = reads.reduce((sum, each) => sum + each.calls, 0);
      return {
        subjects: entities.map(({ subject }) => subject),
        calls: Math.max(1, calls),
        read: async (call) => {
          await Promise.all(reads.map((each) => each.read(call)));
          return entities.map(({ subject, window: ofResponse, values, failures, notNumbers }) => {
            const [error = subject.unread] = failures.values();
            // Readable metrics are published, because one bad definition must not hide the others.
            if (error !== undefined && failures.size === subject.columns.length) return { error };
            return { value: { window: ofResponse ?? queried, values, failures, notNumbers } };
          });
        },
      };
    },
  };
}

/** Takes the entities of the next call: of one type and window, as many as one query for each source can carry. */
function takeEntities(memory: AccountMemory, subjects: Iterable<GoldenSubject>): readonly [Entity, ...Entity[]] {
  const { failures } = memory;
  const sizes = new Map<GoldenSource, Size>();
  // Entities with the same columns have the same list object, so they can share one selector for each source.
  const known = new Map<GoldenSubject['columns'], Selectors>();
  let first: Entity | undefined;
  const others: Entity[] = [];
  for (const subject of subjects) {
    const { type, window, guid, columns } = subject;
    if (first !== undefined) {
      const { subject: other } = first;
      if (type !== other.type || window !== other.window || failures.isSuspect(ENTITY_KIND, other.guid)) break;
      if (failures.isSuspect(ENTITY_KIND, guid)) continue;
    }
    const selectors = known.get(columns) ?? selectorsOf(columns);
    known.set(columns, selectors);
    let fits = true;
    for (const [source, selector] of selectors) {
      const size = sizes.get(source) ?? new Size(memory, kindOf(source));
      sizes.set(source, size);
      size.add(partOf(subject, selector));
      fits &&= size.fits;
    }
    if (first !== undefined && !fits) break;
    const entity = { subject, selectors, window: undefined, values: new Map(), failures: new Map(), notNumbers: [] };
    if (first === undefined) first = entity;
    else others.push(entity);
  }
  if (first === undefined) throw new RangeError('no subjects');
  return [first, ...others];
}

function kindOf(source: GoldenSource): QueryKind {
  return { name: ENTITY_KIND, group: 'golden_metrics', groupBy: 'entity', golden: source };
}

function selectorsOf(columns: GoldenSubject['columns']): Selectors {
  const selects = new Map<GoldenSource, Set<string>>();
  for (const { source, select } of columns) selects.set(source, (selects.get(source) ?? new Set()).add(select));
  return new Map([...selects].map(([source, of]) => [source, new MetricSelector([...of])]));
}

/** Planned queries for columns of one source. */
interface PlannedColumns extends PlannedQueries {
  readonly selects: readonly string[];
  readonly entities: readonly Entity[];
}

/** The read of one source: its columns together, and each suspect column in queries of its own. */
class SourceRead {
  /** The number of calls when nothing fails. */
  readonly calls: number;
  readonly #account: NerdGraphAccount;
  readonly #source: GoldenSource;
  readonly #range: TimeRange;
  readonly #together: PlannedColumns;
  /** A suspect column is read for one entity first, another one each time, and for the others once it succeeds. */
  readonly #suspects: readonly (readonly [first: PlannedColumns, others: PlannedColumns])[];

  constructor(account: NerdGraphAccount, source: GoldenSource, entities: readonly Entity[], range: TimeRange) {
    this.#account = account;
    this.#source = source;
    this.#range = range;
    const { failures } = account.memory;
    const selectsOf = ({ selectors }: Entity): readonly string[] => selectors.get(source)?.names ?? [];
    const selects = [...new Set(entities.flatMap(selectsOf))];
    const suspects = selects.filter((select) => failures.isSuspect(COLUMN_KIND, columnKey(source, select)));
    const others = selects.filter((select) => !suspects.includes(select));
    this.#together = this.#plan(others, entities);
    this.#suspects = suspects.map((select) => {
      const { count } = account.memory.probesOf(columnKey(source, select));
      const having = beginningAt(
        count,
        entities.filter((entity) => selectsOf(entity).includes(select)),
      );
      return [this.#plan([select], having.slice(0, 1), { isTrial: true }), this.#plan([select], having.slice(1))];
    });
    const planned = [this.#together, ...this.#suspects.flat()];
    this.calls = planned.reduce((sum, { calls }) => sum + calls, 0);
  }

  async read(call: CallOptions): Promise<void> {
    const suspects = this.#suspects.map(([first, others]) => this.#readSuspect(first, others, call));
    await Promise.all([this.#readColumns(this.#together, call), ...suspects]);
  }

  #plan(
    selects: readonly string[],
    entities: readonly Entity[],
    kind: Pick<QueryKind, 'isTrial'> = {},
  ): PlannedColumns {
    const isOne = entities.length < 2 || selects.length === 0;
    return { selects, entities, ...planLater(isOne, () => this.#queries(selects, entities, kind)) };
  }

  #queries(selects: readonly string[], entities: readonly Entity[], kind: Pick<QueryKind, 'isTrial'>): PlannedQueries {
    const narrowed = new Map<MetricSelector, MetricSelector>();
    const parts = entities.flatMap(({ subject, selectors }): QueryPart[] => {
      const whole = selectors.get(this.#source);
      const names = whole?.names.filter((name) => selects.includes(name)) ?? [];
      if (whole === undefined || names.length === 0) return [];
      const selector = names.length === whole.names.length ? whole : (narrowed.get(whole) ?? new MetricSelector(names));
      narrowed.set(whole, selector);
      return [partOf(subject, selector)];
    });
    return planTimeslices(this.#account, parts, { ...kindOf(this.#source), ...kind, range: this.#range });
  }

  /** Reads columns of all these entities, and remembers the columns that break queries. */
  async #readColumns({ selects, entities, read }: PlannedColumns, call: CallOptions): Promise<void> {
    const found = await read(call);
    for (const entity of entities) {
      const rows = found.get(entity.subject.guid);
      if (rows === undefined) continue;
      entity.window ??= rows.window;
      for (const select of selects) {
        for (const name of this.#namesOf(entity, select)) take(name, select, rows, entity);
      }
    }
    this.#remember(selects, [...found.values()], call);
  }

  async #readSuspect(first: PlannedColumns, others: PlannedColumns, call: CallOptions): Promise<void> {
    const { memory } = this.#account;
    const { failures } = memory;
    const [select = ''] = first.selects;
    const key = columnKey(this.#source, select);
    const earlier = failures.tooManyFailures(COLUMN_KIND, key, undefined);
    if (earlier === undefined) await this.#readColumns(first, call);
    const own = first.entities.flatMap((entity) =>
      this.#namesOf(entity, select).flatMap((name) => entity.failures.get(name) ?? []),
    );
    const error = earlier ?? own[0];
    if (error === undefined) {
      failures.recordSuccess(COLUMN_KIND, key);
      await this.#readColumns(others, call);
      return;
    }
    if (earlier === undefined) failures.recordOwnFailure(COLUMN_KIND, key, undefined, error);
    // The next trial is of another entity, because the entity may be the cause.
    memory.probesOf(key).count += 1;
    for (const entity of [...first.entities, ...others.entities]) {
      for (const name of this.#namesOf(entity, select)) entity.failures.set(name, error);
    }
  }

  /** Remembers columns that made a query fail while others succeeded, and a column read alone that failed for every entity. */
  #remember(selects: readonly string[], found: readonly SubjectRows[], call: CallOptions): void {
    const { memory, transport } = this.#account;
    const broken = new Set(found.flatMap(({ columnFailures }) => [...columnFailures.keys()]));
    const [only, ...others] = found.length === 0 ? [] : selects;
    const isOpen = transport.http.isCircuitOpen(call);
    if (only !== undefined && others.length === 0 && !isOpen && found.every(({ failure }) => isOfQuery(failure))) {
      broken.add(only);
    }
    for (const select of broken) {
      const key = columnKey(this.#source, select);
      memory.failures.recordFailure(COLUMN_KIND, key);
      memory.probesOf(key).count += 1;
    }
  }

  /** The golden metrics of an entity with this column. */
  #namesOf({ subject }: Entity, select: string): readonly string[] {
    return subject.columns.flatMap((each) => (each.source === this.#source && each.select === select ? each.name : []));
  }
}

/** True for an error that the query itself causes, not a temporary one, nor one of the account. */
function isOfQuery(failure: UpstreamError | undefined): boolean {
  return failure?.failure.reason === 'other' || failure?.failure.reason === 'invalid_response';
}

function partOf({ guid, type }: GoldenSubject, selector: MetricSelector): QueryPart {
  return { id: guid, selector, hosts: undefined, namesHosts: false, displayName: `${type} ${guid}` };
}

function columnKey(source: GoldenSource, select: string): string {
  return `${sourceKey(source)} ${select}`;
}

/** Stores one golden metric of an entity. Null, and a missing row, mean that it has no value. */
function take(name: string, select: string, rows: SubjectRows, own: Entity): void {
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

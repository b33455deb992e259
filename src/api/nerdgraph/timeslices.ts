import type { Account } from './keyAccount.ts';
import { type Fleet, plan, type Cell, type PlanOptions } from './batching.ts';
import { Found, RowReading } from './rows.ts';
import { readInParts } from './inParts.ts';
import { TIMESLICE, type Attribute, type Selection } from './nrql.ts';
import { checkAnswer, eachRow, Facets } from './nrqlAnswer.ts';
import { conditionOf, divide, type Part } from './part.ts';
import type { Group, Transport } from './transport.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { UpstreamError } from '../types.ts';
import type { CallOptions, TimeRange } from '../reader.ts';
import { LeftOut } from '../records/lenient.ts';

export interface TimesliceQuery extends PlanOptions {
  readonly group: Group;
  readonly range: TimeRange;
  /** Minutes per bucket; undefined: one row over the whole range. */
  readonly bucketMinutes?: number;
  /** Whether the sums of squares are read, too. */
  readonly squares?: boolean;
}

const SELECTION: readonly [Selection, ...Selection[]] = [
  // The service chooses the facets it gives by the first function.
  { of: 'count', from: TIMESLICE, as: 'c' },
  { of: 'sum', from: TIMESLICE, as: 't' },
  { of: 'sum', from: `${TIMESLICE}['totalExclusive']`, as: 'x' },
  { of: 'min', from: TIMESLICE, as: 'mn' },
  { of: 'max', from: TIMESLICE, as: 'mx' },
];
const WITH_SQUARES: typeof SELECTION = [...SELECTION, { of: 'sum', from: `${TIMESLICE}['sumOfSquares']`, as: 'q' }];
const BY_APPLICATION: readonly Attribute[] = ['appId', 'metricTimesliceName'];
const BY_HOST: readonly Attribute[] = ['appId', 'host', 'metricTimesliceName'];

/** Reads timeslice data of many applications or hosts with one query, in parts where one is not enough. */
export class Timeslices {
  readonly #transport: Transport;
  readonly #account: Account;
  readonly #fleet: Fleet;

  constructor(transport: Transport, account: Account, fleet: Fleet) {
    this.#transport = transport;
    this.#account = account;
    this.#fleet = fleet;
  }

  /** What was found of each application, by its id. Rejects only with the reason of the signal. */
  async read(cells: readonly Cell[], query: TimesliceQuery, call: CallOptions): Promise<ReadonlyMap<number, Found>> {
    const found = new Map(cells.map(({ applicationId }) => [applicationId, new Found()]));
    const hosts = new Map(cells.map((cell) => [cell.applicationId, cell.hosts]));
    const { isThorough, round } = this.#fleet.alone(query.kind);
    const halves = (part: Part, byMetric: boolean) => divide(part, (id) => hosts.get(id), byMetric);
    await Promise.all(
      plan(cells, this.#fleet, query).map(async (whole) => {
        const blamed = new Set<number>();
        const { answered } = await readInParts<Part>(whole, {
          read: (part) => this.#readPart(part, halves(part, false) !== undefined, query, found, call),
          isThorough,
          round,
          divide: (part, reason) => halves(part, reason === 'truncated'),
          isOneSubject: ({ pieces: [piece, other] }) =>
            piece !== undefined &&
            other === undefined &&
            (piece.hosts ?? hosts.get(piece.applicationId) ?? []).length <= 1,
          onSplit: (reason) => this.#transport.split(reason),
          onFailure: (part, error) => {
            const failure = error ?? this.#transport.invalid(query.group, 'more rows than an answer holds');
            note(part, failure, found);
            if (error === undefined) for (const { applicationId } of part.pieces) markTooMany(found.get(applicationId));
            const [first, second] = part.pieces;
            if (first !== undefined && second === undefined) blamed.add(first.applicationId);
          },
        });
        this.#remember(whole, query, blamed, answered);
      }),
    );
    return found;
  }

  /** What failed while others of the same query were answered is asked alone from now on. */
  #remember(whole: Part, { kind }: TimesliceQuery, blamed: ReadonlySet<number>, answered: number): void {
    const alone = this.#fleet.alone(kind);
    const [first, second] = whole.pieces;
    if (second !== undefined) alone.tried(answered);
    if (first !== undefined && second === undefined) {
      if (blamed.size === 0) alone.answered(first.applicationId);
    } else if (answered > 0) {
      for (const id of blamed) alone.broke(id);
    }
  }

  /** @param forSeveral whether it can be read in halves when it times out */
  async #readPart(
    part: Part,
    forSeveral: boolean,
    { group, range, bucketMinutes, squares }: TimesliceQuery,
    found: ReadonlyMap<number, Found>,
    call: CallOptions,
  ): Promise<void> {
    const facet = part.byHost ? BY_HOST : BY_APPLICATION;
    const select = squares === true ? WITH_SQUARES : SELECTION;
    const query = { select, where: conditionOf(part), facet, range, bucketMinutes };
    const account = await this.#account.id(call);
    const answer = await this.#transport.nrql({ group, account, query, forSeveral }, call);
    const leftOut = new LeftOut();
    try {
      const bucketed = bucketMinutes !== undefined;
      const checked = checkAnswer(answer, { range, facets: facet, bucketed });
      const buckets = bucketed ? { ...range, seconds: bucketMinutes * 60 } : undefined;
      const facets = new Facets(checked.facets, facet);
      const reading = new RowReading(part, { facets, window: checked.window, buckets }, leftOut);
      await eachRow(checked.rows, (row) => reading.take(row));
      reading.handOver(found, (words) => this.#transport.invalid(group, words));
    } catch (error) {
      throw error instanceof CallFailure ? this.#transport.fail(group, error) : error;
    } finally {
      this.#transport.leftOut(group, leftOut);
    }
  }
}

function note(part: Part, failure: UpstreamError, found: ReadonlyMap<number, Found>): void {
  for (const { applicationId, hosts } of part.pieces) {
    const target = found.get(applicationId);
    if (target === undefined) continue;
    if (hosts === undefined) target.failure = failure;
    else for (const host of hosts) target.failures.set(host, failure);
  }
}

function markTooMany(found: Found | undefined): void {
  if (found !== undefined) found.tooMany = true;
}

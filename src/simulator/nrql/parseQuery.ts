import type { NrqlCondition } from './condition.ts';
import { comparisons, NrqlError, parseAttribute, parseCondition, syntaxError, TokenReader } from './condition.ts';

/** The six numbers of a stored timeslice. */
const FIELDS = ['count', 'total', 'totalExclusive', 'min', 'max', 'sumOfSquares'] as const;

/** The values of metric records: timeslices of applications, and the two metrics of key transactions. */
export const TIMESLICE_VALUE = 'newrelic.timeslice.value';
export const KEY_TRANSACTION_DURATION = 'apm.key.transaction.duration';
export const KEY_TRANSACTION_ERRORS = 'apm.key.transaction.error.count';
export const METRIC_VALUES: readonly string[] = [TIMESLICE_VALUE, KEY_TRANSACTION_DURATION, KEY_TRANSACTION_ERRORS];
/** What else a query of metrics may name. */
const METRIC_ATTRIBUTES: readonly string[] = [
  'appId',
  'appName',
  'entity.guid',
  'host',
  'metricTimesliceName',
  'scope',
];

/** The name of the records that timeslices are. */
export const METRIC = 'Metric';

const FUNCTIONS = [
  'count',
  'sum',
  'average',
  'min',
  'max',
  'latest',
  'earliest',
  'percentile',
  'uniques',
  'uniqueCount',
] as const;
/** Those that records of metrics can answer. */
const METRIC_FUNCTIONS: ReadonlySet<string> = new Set(['count', 'sum', 'average', 'min', 'max', 'uniques']);

/** What a function reads of each record, and what must be kept of it. Functions that read the same share one. */
export interface Input {
  /** Undefined for `*`: that the record is there. */
  readonly attribute: string | undefined;
  /** One number of a timeslice in place of the whole. */
  readonly field: (typeof FIELDS)[number] | undefined;
  /** Only records that meet it are read. */
  readonly where: NrqlCondition | undefined;
  keepsValues: boolean;
  keepsNumbers: boolean;
}

/** A function over the records of a row. */
export interface FunctionCall {
  readonly kind: 'call';
  readonly name: (typeof FUNCTIONS)[number];
  /** Its place in the inputs of the query. */
  readonly input: number;
  /** The percentiles, or how many values `uniques` gives. */
  readonly numbers: readonly number[];
}

/** What a column says. `rate` is per so many milliseconds. */
export type NrqlExpression =
  | FunctionCall
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'rate'; readonly of: NrqlExpression; readonly per: number }
  | { readonly kind: '+' | '-' | '*' | '/'; readonly left: NrqlExpression; readonly right: NrqlExpression };

/** One column of the answer; `key` is its member in the rows. */
export interface SelectedColumn {
  readonly of: NrqlExpression;
  readonly key: string;
}

/** An attribute that rows are for. */
export interface FacetAttribute {
  readonly attribute: string;
  readonly key: string;
}

/** A query that was read. Times are milliseconds since 1970; undefined where it does not say. */
export interface NrqlQuery {
  readonly select: readonly [SelectedColumn, ...SelectedColumn[]];
  readonly inputs: readonly Input[];
  /** Names of events, or another query whose rows are read. */
  readonly from: readonly string[] | NrqlQuery;
  readonly where: NrqlCondition | undefined;
  readonly facets: readonly FacetAttribute[];
  readonly since: number | undefined;
  readonly until: number | undefined;
  /** How many facets are answered; `Infinity` for LIMIT MAX. */
  readonly limit: number | undefined;
  /** Minutes per bucket of TIMESERIES. */
  readonly bucketMinutes: number | undefined;
}

const UNIQUES_DEFAULT = 1000;
const UNIQUES_MOST = 10_000;
const MOST_FACETS = 5;
const MILLISECONDS: Readonly<Record<string, number>> = {
  SECOND: 1000,
  MINUTE: 60_000,
  HOUR: 3_600_000,
  DAY: 86_400_000,
};

/**
 * Reads an NRQL query: SELECT and FROM first, in either order, then the other clauses in any order, each at most once.
 * Throws an NrqlError for anything that the simulator does not know (docs/simulator.md).
 */
export function parseNrql(text: string): NrqlQuery {
  const reader = new TokenReader(text);
  const query = new QueryParser(reader).query(false);
  if (reader.peek().kind !== 'end') reader.fail('a clause or the end');
  checkMetrics(query, text);
  return query;
}

/** A query of metrics names nothing that metrics do not have; the service takes any attribute, and has no rows then. */
function checkMetrics({ from, select, inputs, where, facets }: NrqlQuery, text: string): void {
  if ('select' in from) checkMetrics(from, text);
  if ('select' in from || !from.includes(METRIC)) return;
  const calls = select.flatMap(({ of }) => callsOf(of));
  const filters = [where, ...inputs.map((input) => input.where)].filter((one) => one !== undefined);
  const attributes = [
    ...facets.map(({ attribute }) => attribute),
    ...filters.flatMap((filter) => comparisons(filter).map(({ attribute }) => attribute)),
    ...inputs.map(({ attribute }) => attribute).filter((attribute) => attribute !== undefined),
  ];
  const unknown =
    calls.find(({ name }) => !METRIC_FUNCTIONS.has(name))?.name ??
    attributes.find((name) => !METRIC_ATTRIBUTES.includes(name) && !METRIC_VALUES.includes(name));
  const values = new Set(attributes.filter((name) => METRIC_VALUES.includes(name)));
  if (from.length > 1 || (values.has(TIMESLICE_VALUE) && values.size > 1))
    throw new NrqlError('metric timeslice data cannot be queried together with other data');
  if (
    unknown !== undefined ||
    inputs.some(({ attribute, where: filter }) => attribute === undefined || filter !== undefined)
  )
    throw syntaxError(
      text,
      text.indexOf(unknown ?? 'SELECT') + 1,
      `unexpected '${unknown ?? '*'}' in a query of metrics`,
    );
}

function callsOf(of: NrqlExpression): readonly FunctionCall[] {
  if (of.kind === 'call') return [of];
  if (of.kind === 'number') return [];
  return of.kind === 'rate' ? callsOf(of.of) : [...callsOf(of.left), ...callsOf(of.right)];
}

/** Reads one query; a query inside another has a parser of its own over the same words. */
class QueryParser {
  readonly #reader: TokenReader;
  readonly #inputs: Input[] = [];

  constructor(reader: TokenReader) {
    this.#reader = reader;
  }

  /** An inner query takes no time: the service knows such clauses outermost only. */
  query(isInner: boolean): NrqlQuery {
    const reader = this.#reader;
    const isFromFirst = reader.takeWord('FROM');
    const source = isFromFirst ? this.#from() : undefined;
    reader.expectWord('SELECT');
    const [first, ...others] = reader.list(() => this.#column());
    if (first === undefined) throw new Error('a list has at least one part');
    if (!isFromFirst) reader.expectWord('FROM');
    const query: { -readonly [Member in keyof NrqlQuery]: NrqlQuery[Member] } = {
      select: [first, ...others],
      inputs: this.#inputs,
      from: source ?? this.#from(),
      where: undefined,
      facets: [],
      since: undefined,
      until: undefined,
      limit: undefined,
      bucketMinutes: undefined,
    };
    const seen = new Set<string>();
    while (reader.peek().kind === 'word') {
      const clause = reader.peek().value.toUpperCase();
      if (seen.has(clause)) reader.fail(`one ${clause} only`);
      seen.add(clause);
      if (reader.takeWord('WHERE')) query.where = parseCondition(reader);
      else if (reader.takeWord('FACET')) query.facets = this.#facets();
      else if (reader.takeWord('LIMIT'))
        query.limit = reader.takeWord('MAX') ? Infinity : this.#whole('a limit or MAX');
      else if (!isInner && reader.takeWord('SINCE')) query.since = this.#whole('milliseconds since 1970');
      else if (!isInner && reader.takeWord('UNTIL')) query.until = this.#whole('milliseconds since 1970');
      else if (!isInner && reader.takeWord('TIMESERIES')) query.bucketMinutes = this.#buckets();
      else reader.fail(isInner ? 'WHERE, FACET or LIMIT' : 'WHERE, FACET, SINCE, UNTIL, LIMIT or TIMESERIES');
    }
    return query;
  }

  #from(): NrqlQuery['from'] {
    const reader = this.#reader;
    if (reader.takeSign('(') === undefined)
      return reader.list(() => reader.expect('the name of events, or a query in parentheses', 'word', 'name').value);
    const inner = new QueryParser(reader).query(true);
    reader.expectSign(')');
    return inner;
  }

  #column(): SelectedColumn {
    const of = this.#sum();
    return { of, key: this.#alias() ?? keyOf(of, this.#inputs) };
  }

  #alias(): string | undefined {
    return this.#reader.takeWord('AS') ? this.#reader.expect('a name', 'word', 'name', 'text').value : undefined;
  }

  /** Sums and differences of products and quotients. */
  #sum(): NrqlExpression {
    let left = this.#product();
    for (;;) {
      const kind = this.#reader.takeSign('+', '-');
      if (kind === undefined) return left;
      left = { kind, left, right: this.#product() };
    }
  }

  #product(): NrqlExpression {
    let left = this.#factor();
    for (;;) {
      const kind = this.#reader.takeSign('*', '/');
      if (kind === undefined) return left;
      left = { kind, left, right: this.#factor() };
    }
  }

  #factor(): NrqlExpression {
    const reader = this.#reader;
    if (reader.takeSign('(') !== undefined) {
      const inner = this.#sum();
      reader.expectSign(')');
      return inner;
    }
    if (reader.peek().kind === 'number') return { kind: 'number', value: Number(reader.take().value) };
    return this.#function(undefined);
  }

  /** A function; inside of `filter` and `percentage` over the records that meet a condition. */
  #function(where: NrqlCondition | undefined): NrqlExpression {
    const reader = this.#reader;
    const { kind, value: word } = reader.peek();
    if (kind !== 'word') reader.fail('a function');
    const lower = word.toLowerCase();
    if (where === undefined && (lower === 'filter' || lower === 'percentage')) return this.#filtered(lower);
    if (where === undefined && lower === 'rate') return this.#rate();
    const name =
      FUNCTIONS.find((known) => known.toLowerCase() === lower) ?? reader.fail(`one of ${FUNCTIONS.join(', ')}`);
    reader.take();
    reader.expectSign('(');
    const isAll = name === 'count' && reader.takeSign('*') !== undefined;
    const attribute = isAll ? undefined : parseAttribute(reader);
    const field = reader.takeSign('[') === undefined ? undefined : this.#field();
    const numbers = name === 'percentile' || name === 'uniques' ? this.#numbers(name) : [];
    reader.expectSign(')');
    return { kind: 'call', name, input: this.#input(name, attribute, field, where), numbers };
  }

  /** `filter(f, WHERE c)`, and `percentage(f, WHERE c)`: of what f gives over all records. */
  #filtered(name: 'filter' | 'percentage'): NrqlExpression {
    const reader = this.#reader;
    reader.take();
    reader.expectSign('(');
    const all = this.#function(undefined);
    if (all.kind !== 'call') return reader.fail('a function of records');
    reader.expectSign(',');
    reader.expectWord('WHERE');
    const where = parseCondition(reader);
    reader.expectSign(')');
    const { attribute, field } = this.#inputs[all.input] ?? { attribute: undefined, field: undefined };
    const part: NrqlExpression = { ...all, input: this.#input(all.name, attribute, field, where) };
    if (name === 'filter') return part;
    return { kind: '/', left: { kind: '*', left: { kind: 'number', value: 100 }, right: part }, right: all };
  }

  #rate(): NrqlExpression {
    const reader = this.#reader;
    reader.take();
    reader.expectSign('(');
    const of = this.#function(undefined);
    reader.expectSign(',');
    const amount = this.#whole('a time such as 1 minute');
    const unit =
      MILLISECONDS[reader.peek().value.toUpperCase().replace(/S$/, '')] ?? reader.fail('second, minute, hour or day');
    reader.take();
    reader.expectSign(')');
    return { kind: 'rate', of, per: amount * unit };
  }

  #field(): Input['field'] {
    const { value } = this.#reader.peek();
    const field = FIELDS.find((known) => known === value) ?? this.#reader.fail(`one of ${FIELDS.join(', ')} in quotes`);
    this.#reader.expect('a text', 'text');
    this.#reader.expectSign(']');
    return field;
  }

  #numbers(name: 'percentile' | 'uniques'): readonly number[] {
    const reader = this.#reader;
    if (reader.takeSign(',') === undefined) return name === 'uniques' ? [UNIQUES_DEFAULT] : reader.fail("','");
    if (name === 'percentile') return reader.list(() => Number(reader.expect('a percentile', 'number').value));
    const most = this.#whole('how many');
    return most > UNIQUES_MOST ? reader.fail(`at most ${UNIQUES_MOST}`) : [most];
  }

  /** The place of an input: one that reads the same is used again. */
  #input(
    name: FunctionCall['name'],
    attribute: string | undefined,
    field: Input['field'],
    where: NrqlCondition | undefined,
  ): number {
    const same = (one: Input) => one.attribute === attribute && one.field === field && one.where === where;
    const known = this.#inputs.findIndex(same);
    const place = known < 0 ? this.#inputs.length : known;
    const input = this.#inputs[place] ?? { attribute, field, where, keepsValues: false, keepsNumbers: false };
    this.#inputs[place] = input;
    input.keepsValues ||= name === 'uniques' || name === 'uniqueCount';
    input.keepsNumbers ||= name === 'percentile';
    return place;
  }

  #facets(): readonly FacetAttribute[] {
    const reader = this.#reader;
    const facets = reader.list(() => {
      const attribute = parseAttribute(reader);
      return { attribute, key: this.#alias() ?? attribute };
    });
    return facets.length > MOST_FACETS ? reader.fail(`at most ${MOST_FACETS} attributes`) : facets;
  }

  #buckets(): number {
    const minutes = this.#whole('minutes');
    if (!this.#reader.takeWord('MINUTE') && !this.#reader.takeWord('MINUTES')) this.#reader.fail('minute or minutes');
    return minutes;
  }

  #whole(expected: string): number {
    const { kind, value } = this.#reader.peek();
    if (kind !== 'number' || !/^\d{1,15}$/.test(value) || Number(value) === 0) return this.#reader.fail(expected);
    return Number(this.#reader.take().value);
  }
}

/** The key of a column that was given no name. */
function keyOf(of: NrqlExpression, inputs: readonly Input[]): string {
  if (of.kind !== 'call') return 'result';
  const { attribute, field } = inputs[of.input] ?? {};
  if (attribute === undefined || of.name === 'count') return of.name;
  return field === undefined ? `${of.name}.${attribute}` : `${of.name}.${attribute}['${field}']`;
}

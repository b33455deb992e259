import { HOST_GAUGES, MICROMETER_REQUESTS, SERVICE_DURATION, SERVICE_ERRORS } from '../world/monitoredEntities.ts';
import {
  NrqlError,
  parseAttribute,
  parseCondition,
  syntaxError,
  TokenReader,
  type NrqlCondition,
  type Value,
} from './condition.ts';
import { RESOURCE_VALUES } from '../world/accountEvents.ts';
import { MINUTE } from '../world/worldEntities.ts';
import { type ColumnValue, FUNCTIONS, type Tally } from './nrqlFunctions.ts';

/** The six numbers of a stored timeslice. */
const FIELDS = ['count', 'total', 'totalExclusive', 'min', 'max', 'sumOfSquares'] as const;

/** The values of metric records: timeslices of applications, and the two metrics of key transactions. */
export const TIMESLICE_VALUE = 'newrelic.timeslice.value';
export const KEY_TRANSACTION_DURATION = 'apm.key.transaction.duration';
export const KEY_TRANSACTION_ERRORS = 'apm.key.transaction.error.count';
/** The metrics of services, and of hosts that report through OpenTelemetry. */
export const ENTITY_VALUES: readonly string[] = [
  ...[SERVICE_DURATION, SERVICE_ERRORS, MICROMETER_REQUESTS],
  ...HOST_GAUGES,
];
export const METRIC_VALUES: readonly string[] = [
  TIMESLICE_VALUE,
  KEY_TRANSACTION_DURATION,
  KEY_TRANSACTION_ERRORS,
  ...ENTITY_VALUES,
];
/** Further attributes that a query of metrics may name. */
const METRIC_ATTRIBUTES: readonly string[] = [
  ...['appId', 'appName', 'entity.guid', 'host', 'metricTimesliceName', 'scope'],
  ...['exception', 'state', 'type'],
];

/** The name behind FROM under which NRQL reads metrics, timeslices too. */
export const METRIC = 'Metric';

const NAMES = Object.keys(FUNCTIONS) as readonly (keyof typeof FUNCTIONS)[];
/** Functions that need every value, not only sums. */
const KEEPING: ReadonlySet<string> = new Set(['percentile', 'uniqueCount', 'uniques', 'apdex', 'histogram']);
/** Functions that can read records of metrics. */
const METRIC_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['count', 'datapointCount', 'sum', 'average', 'min', 'max', 'uniques'],
]);

/** The part of each record that a function reads. Functions can share an input. */
export interface Input {
  /** Undefined for `*` and datapointCount(). Both count records; with the field `count`, `*` adds up counts. */
  readonly attribute: string | undefined;
  /** One number of the timeslice; undefined for the whole timeslice. */
  readonly field: (typeof FIELDS)[number] | undefined;
  /** The function reads only records that meet this condition. */
  readonly where: NrqlCondition;
  /** True if the tally keeps every value, not only sums. */
  readonly keepsValues: boolean;
}

/** The expression of a column. */
interface NrqlExpression {
  /** The key of a column without an alias. Undefined, which becomes `result`, for all but single functions. */
  readonly key?: string;
  /** Calculates the column of a row from the tallies of all inputs; `milliseconds` is the length of the row's range. */
  readonly evaluate: (tallies: readonly Tally[], milliseconds: number) => ColumnValue;
}

/** A parsed query. Times are milliseconds since 1970; negative times count back from now. */
export interface NrqlQuery {
  /** The columns of the result; `key` is the member of the rows. */
  readonly select: readonly Required<NrqlExpression>[];
  /** The names of the functions in SELECT. */
  readonly functions: readonly string[];
  /** The inputs of the functions, in order. Only groups with the attribute of the first input become facets. */
  readonly inputs: readonly Input[];
  /** Names of events, or another query whose rows are read. */
  readonly from: readonly string[] | NrqlQuery;
  readonly where: NrqlCondition;
  /** The attributes of FACET. For `if`, `attribute` is undefined. */
  readonly facets: readonly {
    readonly attribute: string | undefined;
    readonly key: string;
    readonly valueOf: (lookup: (attribute: string) => Value | null) => Value | null;
  }[];
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Ranks the facets for LIMIT, the highest first; undefined without ORDER BY. */
  readonly orderBy?: NrqlExpression['evaluate'] | undefined;
  /** The most facets in the result; `Infinity` for LIMIT MAX. */
  readonly limit?: number | undefined;
  /** Minutes per bucket of TIMESERIES. */
  readonly bucketMinutes?: number | undefined;
}

const ALWAYS: NrqlCondition = { meets: () => true, comparisons: [] };

const UNIQUES_DEFAULT = 1000;
const UNIQUES_MOST = 10_000;
const MAX_FACETS = 5;

/**
 * Reads an NRQL query: SELECT and FROM first, in either order, then the other clauses in any order, each at most once.
 * Throws an NrqlError for anything that the simulator does not know (docs/simulator.md).
 */
export function parseNrql(text: string): NrqlQuery & { readonly subqueries: readonly Subquery[] } {
  const reader = new TokenReader(text);
  const subqueries: Subquery[] = [];
  reader.readSubquery = () => {
    const values = new Set<string>();
    const query = new QueryParser(reader).query('WHERE');
    subqueries.push({ query, values });
    return values;
  };
  const query = new QueryParser(reader).query('outermost');
  if (reader.peek().kind !== 'end') reader.fail('a clause or the end');
  for (const each of [query, ...subqueries.map((subquery) => subquery.query)]) checkMetrics(each, text);
  return { ...query, subqueries };
}

/** A query after IN. `values` is empty until the subquery has run. Inner subqueries come before their outer query. */
interface Subquery {
  readonly query: NrqlQuery;
  readonly values: Set<string>;
}

/** True if functions read the metrics of New Relic's limits, which the simulator stores as events. */
export function readsResources(inputs: readonly Input[]): boolean {
  return inputs.some(({ attribute }) => attribute !== undefined && RESOURCE_VALUES.includes(attribute));
}

/** Refuses functions and attributes that metrics do not have. New Relic returns no rows for unknown attributes. */
function checkMetrics({ from, functions, inputs, where, facets }: NrqlQuery, text: string): void {
  if ('select' in from) checkMetrics(from, text);
  if ('select' in from || !from.includes(METRIC) || readsResources(inputs)) return;
  const attributes = [
    ...facets.map(({ attribute, key }) => attribute ?? key),
    ...[where, ...inputs.map((input) => input.where)].flatMap(({ comparisons }) =>
      comparisons.map(({ attribute }) => attribute),
    ),
    ...inputs.flatMap(({ attribute }) => attribute ?? []),
  ];
  const values = new Set(attributes.filter((name) => METRIC_VALUES.includes(name)));
  const isTimeslice = (name: string): boolean => name === TIMESLICE_VALUE || name.startsWith('apm.');
  const hasOthers = inputs.some(({ attribute }) => attribute === undefined) || ![...values].every(isTimeslice);
  const isMixed = hasOthers && [...values].some(isTimeslice);
  if (from.length > 1 || isMixed || (values.has(TIMESLICE_VALUE) && values.size > 1))
    throw new NrqlError('metric timeslice data cannot be queried together with other data');
  const unknown =
    functions.find((name) => !METRIC_FUNCTIONS.has(name)) ??
    attributes.find((name) => !METRIC_ATTRIBUTES.includes(name) && !METRIC_VALUES.includes(name));
  const readsEntities = [...values].some((name) => ENTITY_VALUES.includes(name));
  const isLoose = inputs.some(({ attribute, where: filter }) => attribute === undefined || filter !== ALWAYS);
  const refused = unknown ?? (!readsEntities && isLoose ? '*' : undefined);
  if (refused !== undefined) throw syntaxError(text, 1, `unexpected '${refused}' in a query of metrics`);
}

/** Applies the change to a number, or to each number of a `percentile`; null for anything else. */
function mapNumbers(result: ColumnValue, change: (value: number) => number): ColumnValue {
  if (typeof result === 'number') return change(result);
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return null;
  const members = Object.entries(result as Readonly<Record<string, number | null>>);
  return Object.fromEntries(members.map(([key, value]) => [key, value === null ? null : change(value)]));
}

const ARITHMETIC = {
  '+': (first: number, second: number) => first + second,
  '*': (first: number, second: number) => first * second,
  '/': (first: number, second: number) => first / second,
};

/** Adds, multiplies or divides two expressions; null if the result is not a number. */
function combine(sign: keyof typeof ARITHMETIC, first: NrqlExpression, second: NrqlExpression): NrqlExpression {
  return {
    evaluate: (tallies, milliseconds) => {
      const by = second.evaluate(tallies, milliseconds);
      if (typeof by !== 'number' || (sign === '/' && by === 0)) return null;
      return mapNumbers(first.evaluate(tallies, milliseconds), (value) => ARITHMETIC[sign](value, by));
    },
  };
}

/** Creates a column from one member of the object that a function returns. */
function memberOf(name: string, evaluate: NrqlExpression['evaluate'], key = name): NrqlQuery['select'][number] {
  return {
    key,
    evaluate: (tallies, milliseconds) => {
      const result = evaluate(tallies, milliseconds);
      if (typeof result !== 'object' || result === null || Array.isArray(result)) return null;
      return (result as Readonly<Record<string, number | null>>)[name] ?? null;
    },
  };
}

const constant = (value: number): NrqlExpression => ({ evaluate: () => value });

/** Parses one query. An inner query has its own parser and shares the token reader. */
class QueryParser {
  readonly #reader: TokenReader;
  readonly #functions: string[] = [];
  readonly #inputs: Input[] = [];

  constructor(reader: TokenReader) {
    this.#reader = reader;
  }

  /** Parses a query. An inner query in FROM has no SINCE, UNTIL and TIMESERIES; in WHERE it may have a range. */
  query(place: 'outermost' | 'FROM' | 'WHERE'): NrqlQuery {
    const reader = this.#reader;
    const isInner = place !== 'outermost';
    const hasTime = place !== 'FROM';
    const isFromFirst = reader.takeWord('FROM');
    const source = isFromFirst ? this.#from() : undefined;
    reader.expectWord('SELECT');
    const select = reader.list(() => this.#columns()).flat();
    if (!isFromFirst) reader.expectWord('FROM');
    const query: { -readonly [Member in keyof NrqlQuery]: NrqlQuery[Member] } = {
      select,
      functions: this.#functions,
      inputs: this.#inputs,
      from: source ?? this.#from(),
      where: ALWAYS,
      facets: [],
    };
    const seen = new Set<string>();
    while (reader.peek().kind === 'word') {
      const clause = reader.peek().value.toUpperCase();
      if (seen.has(clause)) reader.fail(`one ${clause} only`);
      seen.add(clause);
      if (reader.takeWord('WHERE')) query.where = parseCondition(reader);
      else if (reader.takeWord('FACET')) {
        query.facets = this.#facets();
        // Only ORDER BY after FACET is supported: elsewhere it sorts rows of attributes.
        if (reader.takeWord('ORDER')) query.orderBy = this.#order();
      } else if (reader.takeWord('LIMIT'))
        query.limit = reader.takeWord('MAX') ? Infinity : this.#whole('a limit or MAX');
      else if (hasTime && reader.takeWord('SINCE')) query.since = this.#time(isInner);
      else if (hasTime && reader.takeWord('UNTIL')) query.until = this.#time(isInner);
      else if (!isInner && reader.takeWord('TIMESERIES')) query.bucketMinutes = this.#minutes();
      else reader.fail(isInner ? 'WHERE, FACET or LIMIT' : 'WHERE, FACET, SINCE, UNTIL, LIMIT or TIMESERIES');
    }
    return query;
  }

  #from(): NrqlQuery['from'] {
    const reader = this.#reader;
    if (reader.takeSign('(') === undefined)
      return reader.list(() => reader.expect('the name of events, or a query in parentheses', 'word', 'name').value);
    const inner = new QueryParser(reader).query('FROM');
    reader.expectSign(')');
    return inner;
  }

  /** Parses a column, and returns the members of a row that it makes. Some functions make several. */
  #columns(): NrqlQuery['select'] {
    if (this.#reader.takeWord('GETFIELD')) return this.#fieldOfColumn();
    const isApdex = this.#reader.peek().value.toUpperCase() === 'APDEX';
    const { key = 'result', evaluate } = this.#sum();
    const column = { key: this.#alias() ?? key, evaluate };
    return isApdex ? [column, ...['score', 's', 't', 'f', 'count'].map((name) => memberOf(name, evaluate))] : [column];
  }

  /** Parses `(percentile(attribute, 95), 95)` after `getField`. The value has a key of its own; an alias has null. */
  #fieldOfColumn(): NrqlQuery['select'] {
    const reader = this.#reader;
    reader.expectSign('(');
    const { input, over } = this.#function();
    const { evaluate } = over(input);
    reader.expectSign(',');
    const field = reader.expect('a member', 'number', 'text', 'word').value;
    reader.expectSign(')');
    const alias = this.#alias();
    const number = memberOf(field, evaluate, `${this.#functions.at(-1) ?? ''}[${field}]`);
    return alias === undefined ? [number] : [{ key: alias, evaluate: () => null }, number];
  }

  /** Parses milliseconds since 1970. In a subquery also parses `1 day ago` as a negative number. */
  #time(isInner: boolean): number {
    const number = this.#whole('milliseconds since 1970');
    const units = { MINUTE, HOUR: 60 * MINUTE, DAY: 24 * 60 * MINUTE };
    const unit = Object.entries(units).find(([name]) => new RegExp(`^${name}S?$`, 'i').test(this.#reader.peek().value));
    if (!isInner || unit === undefined) return number;
    this.#reader.take();
    this.#reader.expectWord('AGO');
    return -number * unit[1];
  }

  #alias(): string | undefined {
    return this.#reader.takeWord('AS') ? this.#reader.expect('a name', 'word', 'name', 'text').value : undefined;
  }

  #sum(): NrqlExpression {
    let sum = this.#product();
    while (this.#reader.takeSign('+') !== undefined) sum = combine('+', sum, this.#product());
    return sum;
  }

  #product(): NrqlExpression {
    let product = this.#factor();
    for (;;) {
      const sign = this.#reader.takeSign('*', '/');
      if (sign === undefined) return product;
      product = combine(sign, product, this.#factor());
    }
  }

  #factor(): NrqlExpression {
    const reader = this.#reader;
    if (reader.peek().kind === 'number') return constant(Number(reader.take().value));
    if (reader.takeSign('(') !== undefined) {
      const inner = this.#sum();
      reader.expectSign(')');
      return inner;
    }
    if (reader.takeWord('RATE')) return this.#rate();
    const isFilter = reader.takeWord('FILTER');
    if (!isFilter && !reader.takeWord('PERCENTAGE')) {
      const { input, over } = this.#function();
      return over(input);
    }
    reader.expectSign('(');
    const { input, over } = this.#function();
    reader.expectSign(',');
    reader.expectWord('WHERE');
    const part = over({ ...input, where: parseCondition(reader) });
    reader.expectSign(')');
    return isFilter ? part : combine('/', combine('*', constant(100), part), over(input));
  }

  /** Parses a function. `over` creates its expression for an input, which may have a further condition. */
  #function(): { readonly input: Input; readonly over: (input: Input) => NrqlExpression } {
    const reader = this.#reader;
    const { kind, value: word } = reader.peek();
    if (kind !== 'word') reader.fail('a function');
    const name =
      NAMES.find((known) => known.toLowerCase() === word.toLowerCase()) ?? reader.fail(`one of ${NAMES.join(', ')}`);
    reader.take();
    this.#functions.push(name);
    reader.expectSign('(');
    const isAll = name === 'datapointCount' || (name === 'count' && reader.takeSign('*') !== undefined);
    const isAverage = name === 'average';
    // `average(1 - x)` and `average(convert(x, unit OR 's', 'ms'))`. All records are in seconds.
    const isRest = isAverage && reader.peek().value === '1';
    if (isRest) {
      reader.take();
      reader.expectSign('-');
    }
    const isConverted = isAverage && reader.takeWord('CONVERT');
    if (isConverted) reader.expectSign('(');
    const attribute = isAll ? undefined : parseAttribute(reader);
    if (isConverted) this.#toMilliseconds();
    // count(*) adds up the counts that records of metrics have.
    const whole = isAll && name === 'count' ? 'count' : undefined;
    const field = reader.takeSign('[') === undefined ? whole : this.#field();
    const numbers = this.#numbers(name);
    reader.expectSign(')');
    const argument = `${attribute ?? ''}${field === undefined ? '' : `['${field}']`}`;
    return {
      input: { attribute, field, where: ALWAYS, keepsValues: KEEPING.has(name) },
      over: (input) => {
        const place = this.#placeOf(input);
        return {
          key: name === 'count' ? name : `${name}.${argument}`,
          evaluate: (tallies) => {
            const tally = tallies[place];
            const result = tally === undefined ? null : FUNCTIONS[name](tally, numbers);
            return isRest || isConverted ? mapNumbers(result, (value) => (isRest ? 1 - value : 1000 * value)) : result;
          },
        };
      },
    };
  }

  /** Reads the rest of `convert(attribute, unit OR 's', 'ms')`. */
  #toMilliseconds(): void {
    const reader = this.#reader;
    reader.expectSign(',');
    for (const word of ['UNIT', 'OR']) reader.expectWord(word);
    const units = reader.list(() => reader.expect('a unit', 'text').value);
    if (units.join() !== 's,ms') reader.fail("'s', 'ms'");
    reader.expectSign(')');
  }

  #rate(): NrqlExpression {
    const reader = this.#reader;
    reader.expectSign('(');
    const { evaluate } = this.#factor();
    reader.expectSign(',');
    const time = MINUTE * this.#minutes();
    reader.expectSign(')');
    return {
      evaluate: (tallies, milliseconds) =>
        mapNumbers(evaluate(tallies, milliseconds), (value) => (value * time) / milliseconds),
    };
  }

  #field(): Input['field'] {
    const { value } = this.#reader.peek();
    const field = FIELDS.find((known) => known === value) ?? this.#reader.fail(`one of ${FIELDS.join(', ')} in quotes`);
    this.#reader.expect('a text', 'text');
    this.#reader.expectSign(']');
    return field;
  }

  #numbers(name: keyof typeof FUNCTIONS): readonly number[] {
    const reader = this.#reader;
    if (!['percentile', 'uniques', 'apdex', 'histogram'].includes(name)) return [];
    if (reader.takeSign(',') === undefined) return name === 'uniques' ? [UNIQUES_DEFAULT] : reader.fail("','");
    if (name === 'apdex') {
      reader.expectWord('T');
      reader.expectSign(':');
    }
    if (name !== 'uniques') return reader.list(() => Number(reader.expect('a number', 'number').value));
    const most = this.#whole('how many');
    return most > UNIQUES_MOST ? reader.fail(`at most ${UNIQUES_MOST}`) : [most];
  }

  /** Returns the index of an input. Equal inputs share an index. */
  #placeOf(input: Input): number {
    const members = ['attribute', 'field', 'where', 'keepsValues'] as const;
    const known = this.#inputs.findIndex((one) => members.every((member) => one[member] === input[member]));
    return known < 0 ? this.#inputs.push(input) - 1 : known;
  }

  #facets(): NrqlQuery['facets'] {
    const reader = this.#reader;
    const facets = reader.list(() => {
      const choice = reader.takeWord('IF') ? this.#choice() : undefined;
      const attribute = choice === undefined ? parseAttribute(reader) : undefined;
      const plain: NrqlQuery['facets'][number]['valueOf'] = (lookup) => lookup(attribute ?? '');
      return { attribute, key: this.#alias() ?? attribute ?? 'if', valueOf: choice ?? plain };
    });
    return facets.length > MAX_FACETS ? reader.fail(`at most ${MAX_FACETS} attributes`) : facets;
  }

  #order(): NrqlExpression['evaluate'] {
    this.#reader.expectWord('BY');
    return this.#sum().evaluate;
  }

  /** Parses `(condition, value, value)` after `if`. A value is an attribute or a text. */
  #choice(): NrqlQuery['facets'][number]['valueOf'] {
    const reader = this.#reader;
    reader.expectSign('(');
    const where = parseCondition(reader);
    const [first, second] = [0, 1].map(() => {
      reader.expectSign(',');
      const text = reader.peek().kind === 'text' ? reader.take().value : undefined;
      const attribute = text === undefined ? parseAttribute(reader) : '';
      return (lookup: (attribute: string) => Value | null) => text ?? lookup(attribute);
    });
    reader.expectSign(')');
    return (lookup) => (where.meets(lookup) === true ? first : second)?.(lookup) ?? null;
  }

  #minutes(): number {
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

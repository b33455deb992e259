import { type Condition, parseCondition, type Dialect, NrqlSyntaxError, TokenReader } from './condition.ts';

const FUNCTIONS = ['count', 'sum', 'average', 'min', 'max', 'uniques'] as const;
type FunctionName = (typeof FUNCTIONS)[number];

/** The attributes of a record that a condition may name, a FACET may group by, and `uniques` may list. */
const ATTRIBUTES = ['appId', 'appName', 'host', 'entity.guid', 'metricTimesliceName', 'scope'] as const;
export type Attribute = (typeof ATTRIBUTES)[number];

/** The six numbers of a stored timeslice. */
const FIELDS = ['count', 'total', 'totalExclusive', 'min', 'max', 'sumOfSquares'] as const;
type Field = (typeof FIELDS)[number];

/** The values of records: timeslices of applications, and the two metrics of key transactions. */
export const TIMESLICE_VALUE = 'newrelic.timeslice.value';
export const KEY_TRANSACTION_DURATION = 'apm.key.transaction.duration';
export const KEY_TRANSACTION_ERRORS = 'apm.key.transaction.error.count';
const VALUES = [TIMESLICE_VALUE, KEY_TRANSACTION_DURATION, KEY_TRANSACTION_ERRORS] as const;

/** What a function works on. */
export type Expression =
  | { readonly kind: 'value'; readonly value: (typeof VALUES)[number] }
  | { readonly kind: 'field'; readonly field: Field }
  | { readonly kind: 'attribute'; readonly attribute: Attribute; readonly most: number };

/** One column of the answer. */
export interface SelectedFunction {
  readonly name: FunctionName;
  readonly of: Expression;
  /** Its key in the rows. */
  readonly key: string;
}

/** A query that was read. Times are milliseconds since 1970; undefined where it does not say. */
export interface NrqlQuery {
  readonly select: readonly SelectedFunction[];
  readonly where: Condition | undefined;
  readonly facets: readonly Attribute[];
  readonly since: number | undefined;
  readonly until: number | undefined;
  /** How many facets are answered; `Infinity` for LIMIT MAX. */
  readonly limit: number | undefined;
  /** Minutes per bucket of TIMESERIES. */
  readonly bucketMinutes: number | undefined;
}

const UNIQUES_DEFAULT = 1000;
const UNIQUES_MOST = 10_000;
const MOST_FACET_ATTRIBUTES = 5;

const CONDITIONS: Dialect = { attributes: new Set<string>([...ATTRIBUTES, ...VALUES]), likeContains: false };

/**
 * Reads an NRQL query: `SELECT ... FROM Metric`, then WHERE, FACET, SINCE, UNTIL, LIMIT and TIMESERIES in any order,
 * each at most once. Throws an NrqlSyntaxError for anything that the simulator does not know (docs/simulator.md).
 */
export function parseNrql(text: string): NrqlQuery {
  const reader = new TokenReader(text);
  reader.expectWord('SELECT');
  const select = list(reader, parseFunction);
  reader.expectWord('FROM');
  const { value: event } = reader.expect('word', 'Metric');
  if (event !== 'Metric') throw new NrqlSyntaxError(`there is no event type ${event} here, only Metric`);
  const query: { -readonly [Member in keyof NrqlQuery]: NrqlQuery[Member] } = {
    select,
    where: undefined,
    facets: [],
    since: undefined,
    until: undefined,
    limit: undefined,
    bucketMinutes: undefined,
  };
  const seen = new Set<string>();
  while (reader.peek().kind !== 'end') {
    const clause = reader.peek().value.toUpperCase();
    if (seen.has(clause)) reader.fail(`one ${clause} only`);
    seen.add(clause);
    if (reader.takeWord('WHERE')) query.where = parseCondition(reader, CONDITIONS);
    else if (reader.takeWord('FACET')) query.facets = parseFacets(reader);
    else if (reader.takeWord('SINCE')) query.since = wholeNumber(reader, 'milliseconds since 1970');
    else if (reader.takeWord('UNTIL')) query.until = wholeNumber(reader, 'milliseconds since 1970');
    else if (reader.takeWord('LIMIT'))
      query.limit = reader.takeWord('MAX') ? Infinity : positive(reader, 'a limit or MAX');
    else if (reader.takeWord('TIMESERIES')) query.bucketMinutes = parseBuckets(reader);
    else reader.fail('WHERE, FACET, SINCE, UNTIL, LIMIT or TIMESERIES');
  }
  return query;
}

function list<Item>(reader: TokenReader, parse: (reader: TokenReader) => Item): readonly Item[] {
  const items = [parse(reader)];
  while (reader.takeSign(',')) items.push(parse(reader));
  return items;
}

function wholeNumber(reader: TokenReader, expected: string): number {
  return Number(reader.expect('number', expected).value);
}

function positive(reader: TokenReader, expected: string): number {
  const { position } = reader.peek();
  const value = wholeNumber(reader, expected);
  if (value === 0) throw new NrqlSyntaxError(`expected ${expected} above 0`, position);
  return value;
}

function parseFunction(reader: TokenReader): SelectedFunction {
  const { value } = reader.peek();
  const name =
    FUNCTIONS.find((known) => known === value.toLowerCase()) ?? reader.fail(`one of ${FUNCTIONS.join(', ')}`);
  reader.take();
  reader.expectSign('(');
  const of = name === 'uniques' ? parseUniques(reader) : parseValue(reader);
  reader.expectSign(')');
  return { name, of, key: reader.takeWord('AS') ? parseName(reader) : keyOf(name, of) };
}

function parseName(reader: TokenReader): string {
  return reader.peek().kind === 'text' ? reader.take().value : reader.expect('word', 'a name').value;
}

/** The key of a function that was given no name. */
function keyOf(name: SelectedFunction['name'], of: Expression): string {
  if (name === 'count') return 'count';
  if (of.kind === 'attribute') return `${name}.${of.attribute}`;
  return `${name}.${of.kind === 'value' ? of.value : `${TIMESLICE_VALUE}['${of.field}']`}`;
}

function parseUniques(reader: TokenReader): Expression {
  const attribute = parseAttribute(reader);
  const { position } = reader.peek();
  const most = reader.takeSign(',') ? positive(reader, 'how many') : UNIQUES_DEFAULT;
  if (most > UNIQUES_MOST) throw new NrqlSyntaxError(`uniques gives at most ${UNIQUES_MOST} values`, position);
  return { kind: 'attribute', attribute, most };
}

function parseValue(reader: TokenReader): Expression {
  const { value: word } = reader.peek();
  const value = VALUES.find((known) => known === word) ?? reader.fail(`one of ${VALUES.join(', ')}`);
  reader.take();
  if (value !== TIMESLICE_VALUE || !reader.takeSign('[')) return { kind: 'value', value };
  const { value: text, position } = reader.expect('text', `one of ${FIELDS.join(', ')} in quotes`);
  const field = FIELDS.find((known) => known === text);
  if (field === undefined)
    throw new NrqlSyntaxError(`a timeslice has no '${text}'; it has ${FIELDS.join(', ')}`, position);
  reader.expectSign(']');
  return { kind: 'field', field };
}

function parseAttribute(reader: TokenReader): Attribute {
  const { value } = reader.peek();
  const attribute = ATTRIBUTES.find((known) => known === value) ?? reader.fail(`one of ${ATTRIBUTES.join(', ')}`);
  reader.take();
  return attribute;
}

function parseFacets(reader: TokenReader): readonly Attribute[] {
  const { position } = reader.peek();
  const facets = list(reader, parseAttribute);
  if (facets.length > MOST_FACET_ATTRIBUTES) {
    throw new NrqlSyntaxError(`FACET takes at most ${MOST_FACET_ATTRIBUTES} attributes`, position);
  }
  return facets;
}

function parseBuckets(reader: TokenReader): number {
  const minutes = positive(reader, 'minutes');
  if (!reader.takeWord('MINUTE') && !reader.takeWord('MINUTES')) reader.fail('minute or minutes');
  return minutes;
}

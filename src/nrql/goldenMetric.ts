import { listNames, readFragment, readStatement } from './statement.ts';

/** New Relic's definition of a golden metric: NRQL texts by the author of the entity type. */
export interface GoldenDefinition {
  readonly select: string;
  readonly from: string;
  readonly where?: string | null | undefined;
  /** The attribute that identifies the entity of a record. */
  readonly eventId: string;
  /** What the attribute contains: the guid of the entity, or the last part of the decoded guid. */
  readonly eventObjectId: 'ENTITY_GUIDS' | 'DOMAIN_IDS';
}

/** The records behind golden metrics. Entities whose metrics have equal sources share a query. */
export interface GoldenSource {
  readonly from: string;
  readonly where: string | undefined;
  readonly attribute: string;
  readonly eventObjectId: GoldenDefinition['eventObjectId'];
  /** True for timeslices. New Relic does not query timeslices together with other data. */
  readonly isOfTimeslices: boolean;
}

export interface GoldenColumn {
  readonly source: GoldenSource;
  readonly select: string;
}

/** Limit for a definition, in characters. A longer definition leaves too little of a query for the entities. */
const MAX_CHARACTERS = 4_000;

/** Names of metrics that New Relic calculates from timeslices ("Query APM metric timeslice data with NRQL"). */
const TIMESLICES = /^(?:apm\.|newrelic\.timeslice\.value$)/;

/** Rejects a definition that does not fit into a query. The message gives the reason. */
export class UnreadableDefinition extends Error {
  override readonly name = 'UnreadableDefinition';
}

/** Reads a definition. Throws UnreadableDefinition for a text that could change the query around it. */
export function readDefinition({ select, from, where, eventId, eventObjectId }: GoldenDefinition): GoldenColumn {
  const condition = where ?? '';
  if (select.length + from.length + condition.length + eventId.length > MAX_CHARACTERS) {
    throw new UnreadableDefinition(`has more than ${MAX_CHARACTERS} characters`);
  }
  const source = {
    from: readPart('from', from, 'source'),
    where: condition === '' ? undefined : readPart('where', condition, 'condition'),
    attribute: readPart('eventId', eventId, 'attribute'),
    eventObjectId,
    isOfTimeslices: [select, condition].some((part) => listNames(part).some((name) => TIMESLICES.test(name))),
  };
  return { source, select: readPart('select', select, 'column') };
}

function readPart(name: string, text: string, kind: Parameters<typeof readFragment>[1]): string {
  const read = readFragment(text, kind);
  if ('problem' in read) throw new UnreadableDefinition(`its ${name} ${read.problem}`);
  return read.text;
}

export function sourceKey({ from, where, attribute, eventObjectId, isOfTimeslices }: GoldenSource): string {
  return JSON.stringify([from, where, attribute, eventObjectId, isOfTimeslices]);
}

/** Returns the value that identifies an entity in records, unless the guid is not base64 of `account|domain|type|id`. */
export function recordId(guid: string, eventObjectId: GoldenDefinition['eventObjectId']): string | undefined {
  if (eventObjectId === 'ENTITY_GUIDS') return guid;
  return /\|([^|]+)$/.exec(Buffer.from(guid, 'base64').toString())?.[1];
}

/**
 * Writes the query for golden metrics of one source: columns `m0`, `m1`, ... for the entities with these ids. A count
 * comes first, because New Relic leaves out entities whose first column is null; for timeslices a column that counts.
 *
 * @param range Unix seconds in whole minutes; `to` is exclusive
 * @param form ids that may be numbers or texts: both types in one list, or a list for each type
 */
export function goldenQuery(
  { from, where, attribute, eventObjectId, isOfTimeslices }: GoldenSource,
  selects: readonly string[],
  ids: readonly string[],
  range: { readonly from: number; readonly to: number },
  form: 'mixed' | 'separate',
): string {
  const named = selects.map((select, index) => ({ select, text: `${select} AS m${index}` }));
  // For metrics, count(*) adds up their counts, which some metric types lack.
  const isOfMetrics = /^`?metric`?$/i.test(from.trim());
  const counts = isOfTimeslices
    ? named.filter(({ select }) => ['count', 'rate'].includes(readStatement(`SELECT ${select}`).columns[0]?.call ?? ''))
    : [{ text: `${isOfMetrics ? 'datapointCount()' : 'count(*)'} AS n` }];
  const columns = [...new Set([...counts, ...named])].map(({ text }) => text);
  const name = /^[\p{L}_][\p{L}\p{N}_.:]*$/u.test(attribute) ? attribute : `\`${attribute}\``;
  const mayBeNumbers = eventObjectId === 'DOMAIN_IDS';
  const condition = writeIdCondition(name, ids, mayBeNumbers ? form : undefined);
  return [
    `SELECT ${columns.join(', ')} FROM ${from}`,
    `WHERE ${where === undefined ? '' : `(${where}) AND `}${condition}`,
    `FACET ${name} SINCE ${range.from * 1000} UNTIL ${range.to * 1000} LIMIT MAX`,
  ].join(' ');
}

function writeIdCondition(name: string, ids: readonly string[], form: 'mixed' | 'separate' | undefined): string {
  const isNumber = (id: string): boolean => form !== undefined && isCanonicalInteger(id);
  if (form === 'separate' && ids.some(isNumber)) {
    return `(${name} IN (${ids.filter(isNumber).join(', ')}) OR ${name} IN (${ids.map(literal).join(', ')}))`;
  }
  return `${name} IN (${ids.flatMap((id) => (isNumber(id) ? [id, literal(id)] : [literal(id)])).join(', ')})`;
}

/** True for the decimal form of an integer below 2^53. */
export function isCanonicalInteger(id: string): boolean {
  return /^(0|[1-9][0-9]{0,15})$/.test(id) && Number.isSafeInteger(Number(id));
}

/** Quotes a text as an NRQL literal, with quotes and backslashes escaped. */
export function literal(text: string): string {
  // Most texts need no escapes, and replacing nothing takes ten times as long.
  const isPlain = !text.includes("'") && !text.includes('\\');
  return `'${isPlain ? text : text.replace(/[\\']/g, '\\$&')}'`;
}

/** Returns the maximum length of a query without ids and columns. The form `separate` has the attribute twice. */
export function frameLength(source: GoldenSource): number {
  const text = goldenQuery(source, [], [], { from: 2_000_000_000, to: 2_000_000_000 }, 'mixed');
  return text.length + source.attribute.length + '() IN () OR ``'.length;
}

export function idLength(id: string, eventObjectId: GoldenDefinition['eventObjectId']): number {
  const asText = literal(id).length + 2;
  return eventObjectId === 'DOMAIN_IDS' && isCanonicalInteger(id) ? asText + id.length + 2 : asText;
}

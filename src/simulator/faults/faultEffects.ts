import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import {
  type ServiceAnswer,
  limited,
  invalidKey,
  type Rendered,
  render,
  type JsonValue,
  type JsonObject,
  type BodyFormat,
  send,
} from '../simulatorHttp.ts';
import type { FaultRule } from './faultRules.ts';

/** What a fault that answers in the place of the service may say. */
interface RefusalContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly key: string;
  readonly isGraphql: boolean;
}

const HTML = { 'Content-Type': 'text/html; charset=utf-8' };
const page = (title: string): string =>
  `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
const json = (status: number, headers: Readonly<Record<string, string>> = {}): Rendered => ({
  status,
  headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
  text: '{}',
});

const PAYMENT = 'Payment Required';
const RATE_LIMIT_PER_MINUTE = 1000;

function tooMany(header: 'retry-after' | 'reset' | 'old' | 'none', seconds: number, now: number): Rendered {
  const reset = Math.ceil(now / 1000) + seconds;
  switch (header) {
    case 'retry-after':
      return json(429, { 'Retry-After': String(seconds) });
    case 'reset':
      return render(limited(RATE_LIMIT_PER_MINUTE, reset), 'json');
    case 'old':
      return json(429, { 'NewRelic-OverloadProtection-Reset': String(reset) });
    case 'none':
      return json(429);
  }
}

function badGraphqlKey(key: string): ServiceAnswer {
  const error = { message: 'authentication required', extensions: { error_code: 'BAD_API_KEY', api_key: key } };
  return { status: 401, body: { errors: [error] }, headers: {} };
}

/** The answer of a fault that needs nothing from the service; undefined for the other effects. */
export function refuse(rule: FaultRule, { now, key, isGraphql }: RefusalContext): Rendered | undefined {
  switch (rule.effect) {
    case 'status':
      return { ...json(rule.status, rule.headers), text: rule.body };
    case 'rate-limit':
      return tooMany(rule.header, rule.seconds, now);
    case 'unavailable':
      return {
        ...json(503, { 'Retry-After': String(rule.seconds) }),
        text: '{"error":{"title":"Service Unavailable"}}',
      };
    case 'invalid-key':
      return render(isGraphql ? badGraphqlKey(key) : invalidKey(key), 'json');
    case 'payment-required':
      return {
        ...json(402),
        text: JSON.stringify(isGraphql ? { errors: [{ message: PAYMENT }] } : { error: { title: PAYMENT } }),
      };
    case 'forbidden-page':
      return { status: 403, headers: HTML, text: page('403 Forbidden') };
    case 'empty':
      return { ...json(200), text: '' };
    case 'html':
      return { status: 200, headers: HTML, text: page('Be right back') };
    case 'redirect':
      return {
        status: rule.status,
        headers: { Location: rule.location },
        text: `You are being redirected ${rule.location}\n`,
      };
    default:
      return undefined;
  }
}

/** Members whose numbers are figures; ids and ports outside them stay as they are. */
const FIGURES = new Set([
  'application_summary',
  'end_user_summary',
  'settings',
  'values',
  'apmSummary',
  'apdexTarget',
  'browserApdexTarget',
  'otherResult',
  'totalResult',
]);
/** Times inside rows of NRQL. */
const TIMES = new Set(['beginTimeSeconds', 'endTimeSeconds']);
const PLACEHOLDER = '\u0000number\u0000';

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapValue(value: JsonValue, replace: (figure: number) => JsonValue, isFigure: boolean): JsonValue {
  if (typeof value === 'number') return isFigure ? replace(value) : value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => mapValue(item, replace, isFigure));
  return isObject(value) ? mapMembers(value, replace, isFigure) : value;
}

function mapMembers(body: JsonObject, replace: (figure: number) => JsonValue, isFigure: boolean): JsonObject {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      // The rows of NRQL are a list; the member of the same name in an entity search is an object.
      const isRows = name === 'results' && Array.isArray(value);
      const holdsFigures = (isFigure || FIGURES.has(name) || isRows) && !TIMES.has(name);
      return [name, mapValue(value, replace, holdsFigures)];
    }),
  );
}

/** The body with every figure replaced. */
function mapFigures(body: JsonObject, replace: (figure: number) => JsonValue): JsonObject {
  return mapMembers(body, replace, false);
}

/** The body as JSON text with every figure written as `literal`, which JavaScript itself could not hold. */
function withNumbers(body: JsonObject, literal: string): string {
  return JSON.stringify(mapFigures(body, () => PLACEHOLDER)).replaceAll(JSON.stringify(PLACEHOLDER), literal);
}

/** The envelope holds a text where the object or the list should be. */
function withWrongShape(body: JsonObject): JsonObject {
  const envelope = 'data' in body ? 'data' : Object.keys(body)[0];
  return envelope === undefined ? body : { ...body, [envelope]: 'unexpected' };
}

function spoilFirst(records: readonly JsonValue[]): readonly JsonValue[] {
  return records.map((record, index) => (index === 0 ? spoil(record) : record));
}

function spoil(record: JsonValue): JsonValue {
  if (!isObject(record)) return null;
  // Metric data have no id: there the first metric loses its name.
  const { metrics } = record;
  if (Array.isArray(metrics)) return { ...record, metrics: spoilFirst(metrics as readonly JsonValue[]) };
  return { ...record, id: 'not a number', name: null };
}

/** The first record, or the only one, has a text for an id and no name; the rest is valid. */
function withBadRecord(body: JsonObject): JsonObject {
  if (isObject(body['data'] ?? null)) return { ...body, data: spoilFirstOfGraphql(body['data'] ?? null).value };
  const [envelope, value] = Object.entries(body)[0] ?? [];
  if (envelope === undefined || value === undefined) return body;
  return { ...body, [envelope]: Array.isArray(value) ? spoilFirst(value as readonly JsonValue[]) : spoil(value) };
}

/** What identifies entities, accounts and rows of NRQL. */
const IDENTITY: Readonly<Record<string, JsonValue>> = {
  guid: null,
  name: null,
  id: 'not a number',
  applicationId: 'not a number',
  tags: null,
  application: null,
  facet: null,
};

/** GraphQL answers nest their lists: the first list of objects has its first entry spoilt. */
function spoilFirstOfGraphql(value: JsonValue): { readonly value: JsonValue; readonly isDone: boolean } {
  if (Array.isArray(value)) {
    const [first, ...rest] = value as readonly JsonValue[];
    if (first === undefined || !isObject(first)) return { value, isDone: false };
    const known = Object.entries(IDENTITY).filter(([name]) => name in first);
    return { value: [{ ...first, ...Object.fromEntries(known) }, ...rest], isDone: true };
  }
  if (!isObject(value)) return { value, isDone: false };
  for (const [name, member] of Object.entries(value)) {
    const spoilt = spoilFirstOfGraphql(member);
    if (spoilt.isDone) return { value: { ...value, [name]: spoilt.value }, isDone: true };
  }
  return { value, isDone: false };
}

/** The answer of the service after a rule has spoilt its body; as it is under the other effects. */
export function distort(rule: FaultRule | undefined, answer: ServiceAnswer, format: BodyFormat): Rendered {
  switch (rule?.effect) {
    case 'malformed': {
      const rendered = render(answer, format);
      return { ...rendered, text: rendered.text.slice(0, Math.ceil(rendered.text.length / 2)) };
    }
    case 'wrong-shape':
      return render({ ...answer, body: withWrongShape(answer.body) }, format);
    case 'bad-record':
      return render({ ...answer, body: withBadRecord(answer.body) }, format);
    case 'nulls':
      return render({ ...answer, body: mapFigures(answer.body, () => null) }, format);
    case 'strings':
      return render({ ...answer, body: mapFigures(answer.body, String) }, format);
    case 'numbers': {
      const { value } = rule;
      const rendered = render({ ...answer, body: mapFigures(answer.body, () => value) }, format);
      return format === 'xml' ? rendered : { ...rendered, text: withNumbers(answer.body, value) };
    }
    default:
      return render(answer, format);
  }
}

const BYTES_PER_CHUNK = 64 * 1024;
const MISSING_BYTES = 1024;

/** Breaks the connection as a crashed peer does; over TLS there is no way to send a TCP reset, so it just ends. */
export function breakConnection(response: ServerResponse): void {
  const { socket } = response;
  if (socket === null || socket instanceof TLSSocket) response.destroy();
  else socket.resetAndDestroy();
}

async function drip(
  response: ServerResponse,
  { status, headers, text }: Rendered,
  rule: { readonly milliseconds: number; readonly bytes: number },
  signal: AbortSignal,
): Promise<void> {
  const body = Buffer.from(text);
  response.writeHead(status, { ...headers, 'Content-Length': body.length });
  response.flushHeaders();
  for (let sent = 0; sent < body.length && !response.destroyed; sent += rule.bytes) {
    response.write(body.subarray(sent, sent + rule.bytes));
    await pause(rule.milliseconds, undefined, { signal });
  }
  response.end();
}

/** Promises more than it sends, then ends the connection. */
async function cut(response: ServerResponse, { status, headers, text }: Rendered): Promise<void> {
  const body = Buffer.from(text);
  response.writeHead(status, { ...headers, 'Content-Length': body.length + MISSING_BYTES });
  await new Promise<void>((resolve) => response.write(body, () => resolve()));
  response.destroy();
}

function* padded(text: string, megabytes: number): Generator<Buffer> {
  const filler = Buffer.alloc(BYTES_PER_CHUNK, ' ');
  for (let left = megabytes * 1024 * 1024; left > 0; left -= filler.length) yield filler;
  yield Buffer.from(text);
}

/** The body after so much white space; read as a whole, it is valid. */
async function huge(
  response: ServerResponse,
  { status, headers, text }: Rendered,
  megabytes: number,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(status, { ...headers });
  await pipeline(Readable.from(padded(text, megabytes)), response, { signal });
}

/** Writes an answer the way the rule wants it to travel; at once and whole without such a rule. */
export async function transmit(
  rule: FaultRule | undefined,
  response: ServerResponse,
  rendered: Rendered,
  signal: AbortSignal,
): Promise<void> {
  switch (rule?.effect) {
    case 'delay':
      await pause(rule.milliseconds, undefined, { signal });
      send(response, rendered);
      return;
    case 'drip':
      return drip(response, rendered, rule, signal);
    case 'cut':
      return cut(response, rendered);
    case 'huge':
      return huge(response, rendered, rule.megabytes, signal);
    default:
      send(response, rendered);
  }
}

import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import {
  type ServiceResponse,
  limited,
  invalidKey,
  type Rendered,
  render,
  type JsonValue,
  type JsonObject,
  send,
} from '../simulatorHttp.ts';
import type { ServiceCall } from '../simulatorState.ts';
import type { FaultRule } from './faultRules.ts';

const renderPage = (status: number, title: string): Rendered => ({
  status,
  headers: { 'Content-Type': 'text/html; charset=utf-8' },
  text: `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`,
});
const renderJson = (status: number, headers: Readonly<Record<string, string>> = {}, text = '{}'): Rendered => ({
  status,
  headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
  text,
});

const RATE_LIMIT_PER_MINUTE = 1000;

/** Returns the response of a fault that replaces the whole response; undefined for other effects. */
function refuse(rule: FaultRule | undefined, now: number, key: string, isGraphql: boolean): Rendered | undefined {
  switch (rule?.effect) {
    case 'status':
      return renderJson(rule.status, rule.headers, rule.body);
    case 'rate-limit': {
      const reset = Math.ceil(now / 1000) + rule.seconds;
      if (rule.header === 'reset') return render(limited(RATE_LIMIT_PER_MINUTE, reset), 'json');
      const headers = {
        'retry-after': { 'Retry-After': String(rule.seconds) },
        old: { 'NewRelic-OverloadProtection-Reset': String(reset) },
        none: {},
      };
      return renderJson(429, headers[rule.header]);
    }
    case 'unavailable':
      return renderJson(503, { 'Retry-After': String(rule.seconds) }, '{"error":{"title":"Service Unavailable"}}');
    case 'invalid-key': {
      if (!isGraphql) return render(invalidKey(key), 'json');
      const error = { message: 'authentication required', extensions: { error_code: 'BAD_API_KEY', api_key: key } };
      return renderJson(401, {}, JSON.stringify({ errors: [error] }));
    }
    case 'payment-required': {
      const title = 'Payment Required';
      return renderJson(402, {}, JSON.stringify(isGraphql ? { errors: [{ message: title }] } : { error: { title } }));
    }
    case 'forbidden-page':
      return renderPage(403, '403 Forbidden');
    case 'empty':
      return renderJson(200, {}, '');
    case 'html':
      return renderPage(200, 'Be right back');
    case 'redirect': {
      const { status, location } = rule;
      return { status, headers: { Location: location }, text: `You are being redirected ${location}\n` };
    }
    default:
      return undefined;
  }
}

/** Members whose numbers `nulls`, `strings` and `numbers` replace. They keep other numbers, such as ids and ports. */
const FIGURES = new Set([
  ...['application_summary', 'end_user_summary', 'settings', 'values'],
  ...['apmSummary', 'apdexTarget', 'browserApdexTarget', 'otherResult', 'totalResult'],
]);
/** Times in NRQL rows, which these effects keep, too. */
const TIMES = new Set(['beginTimeSeconds', 'endTimeSeconds']);
const PLACEHOLDER = '\u0000number\u0000';

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Replaces every figure in a value. */
function mapFigures(value: JsonValue, replace: (figure: number) => JsonValue, isFigure = false): JsonValue {
  if (typeof value === 'number') return isFigure ? replace(value) : value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => mapFigures(item, replace, isFigure));
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => {
    // `results` of NRQL is the list of rows; `results` of an entity search is an object.
    const isRows = name === 'results' && Array.isArray(member);
    const holdsFigures = (isFigure || FIGURES.has(name) || isRows) && !TIMES.has(name);
    return [name, mapFigures(member, replace, holdsFigures)] as const;
  });
  return Object.fromEntries(members);
}

/** Returns when a timeslice of REST or a bucket of NRQL begins; NaN for other values. */
function readBeginning(value: JsonValue): number {
  if (!isObject(value)) return NaN;
  const { from, beginTimeSeconds } = value;
  return typeof from === 'string' ? Date.parse(from) : Number(beginTimeSeconds ?? NaN);
}

/** Spoils every list of timeslices or buckets in a value. */
function mapSeries(value: JsonValue, fault: Extract<FaultRule, { effect: 'series' }>['fault']): JsonValue {
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapSeries(member, fault)]));
  }
  if (!Array.isArray(value)) return value;
  const list = value.map((item: JsonValue) => mapSeries(item, fault));
  const newest = list.reduce<number>((last, item) => Math.max(last, readBeginning(item)), -Infinity);
  const isNewest = (item: JsonValue): boolean => readBeginning(item) === newest;
  if (fault === 'newest-missing') return list.filter((item) => !isNewest(item));
  if (fault === 'newest-broken')
    return list.map((item) => (isNewest(item) ? mapFigures(item, () => null, true) : item));
  const dated = list.filter(isNewest).filter(isObject);
  const begins = (item: JsonObject) => ('from' in item ? { from: '1970-01-01T00:00:00Z' } : { beginTimeSeconds: 0 });
  return [...dated.map((item) => ({ ...item, ...begins(item) })), ...list];
}

/** Members that identify records, each with an unusable value. */
const IDENTITY: Readonly<Record<string, JsonValue>> = {
  guid: null,
  name: null,
  id: 'not a number',
  applicationId: 'not a number',
  tags: null,
  application: null,
  facet: null,
};

function spoilIdentity(record: JsonObject): JsonObject {
  const known = Object.entries(IDENTITY).filter(([name]) => name in record);
  return { ...record, ...Object.fromEntries(known) };
}

/** Spoils the first record of the first list of records in a value; undefined if the value has no such list. */
function spoilFirstRecord(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) {
    const [first, ...rest] = value as readonly JsonValue[];
    return first !== undefined && isObject(first) ? [spoilIdentity(first), ...rest] : undefined;
  }
  if (!isObject(value)) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const changed = spoilFirstRecord(member);
    if (changed !== undefined) return { ...value, [name]: changed };
  }
  return undefined;
}

/** Changes the value in the envelope of a body: the member `data`, or else the first member. */
function changeEnvelope(body: JsonObject, change: (value: JsonValue, envelope: string) => JsonValue): JsonObject {
  const envelope = 'data' in body ? 'data' : (Object.keys(body)[0] ?? '');
  const value = body[envelope];
  return value === undefined ? body : { ...body, [envelope]: change(value, envelope) };
}

/** Makes id and name of the first or only record unusable. The other records stay valid. */
function spoilRecord(value: JsonValue, envelope: string): JsonValue {
  return spoilFirstRecord(value) ?? (isObject(value) && envelope !== 'data' ? spoilIdentity(value) : value);
}

/** Renders the response, its body spoilt by the rule. Effects that do not concern the body leave it unchanged. */
function distort(rule: FaultRule | undefined, response: ServiceResponse, format: 'json' | 'xml'): Rendered {
  const { body } = response;
  const rendered = (changed: JsonValue): Rendered => render({ ...response, body: changed as JsonObject }, format);
  switch (rule?.effect) {
    case 'malformed': {
      const whole = rendered(body);
      return { ...whole, text: whole.text.slice(0, Math.ceil(whole.text.length / 2)) };
    }
    case 'wrong-shape':
      return rendered(changeEnvelope(body, () => 'unexpected'));
    case 'bad-record':
      return rendered(changeEnvelope(body, spoilRecord));
    case 'nulls':
      return rendered(mapFigures(body, () => null));
    case 'strings':
      return rendered(mapFigures(body, String));
    case 'series':
      return rendered(mapSeries(body, rule.fault));
    case 'numbers': {
      if (format === 'xml') return rendered(mapFigures(body, () => rule.value));
      // A JavaScript number cannot hold values such as 1e999, so this puts the digits into the text.
      const { text, ...rest } = rendered(mapFigures(body, () => PLACEHOLDER));
      return { ...rest, text: text.replaceAll(JSON.stringify(PLACEHOLDER), rule.value) };
    }
    default:
      return rendered(body);
  }
}

const BYTES_PER_CHUNK = 64 * 1024;
const MISSING_BYTES = 1024;

/** Resets the connection, as a crashed peer does. Over TLS, Node.js cannot send a reset, so this closes it. */
function breakConnection(response: ServerResponse): void {
  const { socket } = response;
  if (socket === null || socket instanceof TLSSocket) response.destroy();
  else socket.resetAndDestroy();
}

async function drip(
  response: ServerResponse,
  body: Buffer,
  { milliseconds, bytes }: { readonly milliseconds: number; readonly bytes: number },
  signal: AbortSignal,
): Promise<void> {
  response.flushHeaders();
  for (let sent = 0; sent < body.length && !response.destroyed; sent += bytes) {
    response.write(body.subarray(sent, sent + bytes));
    await pause(milliseconds, undefined, { signal });
  }
  response.end();
}

function* padBody(body: Buffer, megabytes: number): Generator<Buffer> {
  const filler = Buffer.alloc(BYTES_PER_CHUNK, ' ');
  for (let missing = megabytes * 1024 * 1024; missing > 0; missing -= filler.length) yield filler;
  yield body;
}

/** Answers a call. The matching rule may replace or spoil the response, or break the connection. */
export async function deliver(
  rule: FaultRule | undefined,
  { isGraphql, format, respond }: ServiceCall,
  response: ServerResponse,
  { now, key, signal }: { readonly now: number; readonly key: string; readonly signal: AbortSignal },
): Promise<void> {
  if (rule?.effect === 'hang') return;
  if (rule?.effect === 'reset') {
    breakConnection(response);
    return;
  }
  const refused = refuse(rule, now, key, isGraphql);
  if (refused !== undefined) {
    send(response, refused);
    return;
  }
  const plain = await respond(rule);
  // Without an Accept header the REST interface responds with 200 and an empty body.
  const isEmpty = !isGraphql && plain.status === 200 && response.req.headers.accept === undefined;
  const rendered = isEmpty ? { status: 200, headers: {}, text: '' } : distort(rule, plain, format);
  const { status, headers } = rendered;
  const body = Buffer.from(rendered.text);
  switch (rule?.effect) {
    case 'drip':
      response.writeHead(status, { ...headers, 'Content-Length': body.length });
      return drip(response, body, rule, signal);
    case 'cut':
      // Content-Length announces more bytes than the body has.
      response.writeHead(status, { ...headers, 'Content-Length': body.length + MISSING_BYTES });
      await new Promise<void>((resolve) => response.write(body, () => resolve()));
      response.destroy();
      return;
    case 'huge':
      // Spaces before JSON leave it valid.
      response.writeHead(status, { ...headers });
      return pipeline(Readable.from(padBody(body, rule.megabytes)), response, { signal });
    case 'delay':
      await pause(rule.milliseconds, undefined, { signal });
      break;
    default:
  }
  send(response, rendered);
}

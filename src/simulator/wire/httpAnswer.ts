import { gzipSync } from 'node:zlib';
import Builder from 'fast-xml-builder';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

/** A value that JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/** What the service says to a call, before it is written as JSON or XML. */
export interface Answer {
  readonly status: number;
  readonly body: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
}

export function ok(body: JsonObject, link?: string): Answer {
  return { status: 200, body, headers: link === undefined ? {} : { Link: link } };
}

/** The shape of the service's errors: a title, and messages where there is more to say. */
export function failure(
  status: number,
  title: string,
  messages: readonly string[] = [],
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const error = messages.length === 0 ? { title } : { title, messages };
  return { status, body: { error }, headers };
}

const NOT_FOUND_TITLE = 'The requested resource was not found';

export function notFound(): Answer {
  return failure(404, NOT_FOUND_TITLE);
}

const DOCUMENTATION =
  'https://docs.newrelic.com/docs/apis/rest-api-v2/requirements/api-overload-protection-preventing-429-errors';

/** The 429 of an account that made too many calls; `reset` in Unix seconds. */
export function limited(limit: number, reset: number): Answer {
  return {
    status: 429,
    body: {},
    headers: {
      'X-RateLimit-Limit': String(limit),
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(reset),
      'X-RateLimit-Docs': DOCUMENTATION,
    },
  };
}

/** The key a call carries, and the header it came in. */
interface SentKey {
  readonly header: 'X-Api-Key' | 'Api-Key';
  readonly value: string;
}

export function sentKey(headers: IncomingHttpHeaders): SentKey | undefined {
  for (const header of ['X-Api-Key', 'Api-Key'] as const) {
    const value = headers[header.toLowerCase()];
    if (typeof value === 'string' && value !== '') return { header, value };
  }
  return undefined;
}

/** The 401 of a wrong key, which says the key again, as the service does. */
export function invalidKey(key: string): Answer {
  return { status: 401, body: { error: { title: 'Invalid API Key', api_key: key } }, headers: {} };
}

/**
 * Why a call is not let in; undefined when its key is good. A key that nobody knows is seen only in `X-Api-Key`: in `Api-Key`
 * the service looks for keys of users alone, and says that there is none.
 */
export function refusal(key: SentKey | undefined, keys: ReadonlySet<string>): Answer | undefined {
  if (key !== undefined && keys.has(key.value)) return undefined;
  return key?.header === 'X-Api-Key' ? invalidKey(key.value) : failure(401, 'No API key specified');
}

/** Lists whose entries are not named by dropping the plural's last letter. */
const ENTRY_NAMES: Readonly<Record<string, string>> = { metrics_found: 'metric', metrics_not_found: 'metric' };

type Node = string | readonly Node[] | { readonly [name: string]: Node };

const builder = new Builder({ format: true, suppressEmptyNode: false, processEntities: true });

/** XML has no arrays: a list `servers` becomes `<servers><server>..</server></servers>`. */
function nest(value: Json, name: string): Node {
  if (Array.isArray(value)) {
    const entry = ENTRY_NAMES[name] ?? name.replace(/s$/, '');
    return { [entry]: value.map((item: Json) => nest(item, entry)) };
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value as JsonObject).map(([key, item]) => [key, nest(item, key)]));
  }
  return value === null ? '' : String(value);
}

/** The body as XML: the root is the name of the envelope, its first member, with `_response`. */
function toXml(body: JsonObject): string {
  const root = `${Object.keys(body)[0] ?? 'empty'}_response`;
  const document = builder.build({ [root]: nest(body, root) });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${document}`;
}

export type Format = 'json' | 'xml';

/** An answer as it goes over the wire. */
export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  json: 'application/json; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
};

export function render(answer: Answer, format: Format): Rendered {
  const text = format === 'xml' ? toXml(answer.body) : JSON.stringify(answer.body);
  return { status: answer.status, headers: { 'Content-Type': CONTENT_TYPES[format], ...answer.headers }, text };
}

/** Writes an answer at once, compressed where the caller accepts that. */
export function send(response: ServerResponse, { status, headers, text }: Rendered): void {
  const isCompressed = text !== '' && /\bgzip\b/.test(response.req.headers['accept-encoding'] ?? '');
  const body = isCompressed ? gzipSync(text, { level: 1 }) : Buffer.from(text);
  const encoding = isCompressed ? { 'Content-Encoding': 'gzip' } : {};
  response.writeHead(status, { ...headers, ...encoding, 'Content-Length': body.length }).end(body);
}

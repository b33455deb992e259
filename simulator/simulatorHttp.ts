import Builder from 'fast-xml-builder';
import {
  type IncomingMessage,
  type ServerResponse,
  createServer as createHttpServer,
  type IncomingHttpHeaders,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type Server, type Socket, createServer as createNetServer } from 'node:net';
import { gzipSync } from 'node:zlib';

const MAX_CHARACTERS = 1024 * 1024;

/** Reads a body as text; undefined if it has more than `MAX_CHARACTERS`. */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) {
    if (body.length <= MAX_CHARACTERS) body += chunk;
  }
  return body.length > MAX_CHARACTERS ? undefined : body;
}

/** PEM texts. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

const TLS_HANDSHAKE = 0x16;

/** Sends New Relic's 301 to a plain HTTP call. */
function redirectToHttps(request: IncomingMessage, response: ServerResponse): void {
  const address = `https://${request.headers.host ?? 'localhost'}${request.url ?? '/'}`;
  const body = `You are being redirected ${address}\n`;
  response.writeHead(301, {
    Location: address,
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  });
  response.end(body);
}

/** Serves HTTPS and HTTP on one port. Redirects a call whose first byte begins no TLS handshake. */
function createSharedServer(
  tls: TlsFiles,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const secure = createHttpsServer({ cert: tls.cert, key: tls.key }, handler);
  const plain = createHttpServer(redirectToHttps);
  return createNetServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      socket.unshift(chunk);
      (chunk[0] === TLS_HANDSHAKE ? secure : plain).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
}

/** Listens on a host and port (0: any free port). `close` ends all connections at once. Rejects with system errors. */
export async function listen(
  host: string,
  port: number,
  tls: TlsFiles | undefined,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = tls === undefined ? createHttpServer(handler) : createSharedServer(tls, handler);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    port: address.port,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** A value that JSON can hold. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** The response to a call, before `render` turns it into JSON or XML. */
export interface ServiceResponse {
  readonly status: number;
  readonly body: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
}

export function ok(body: JsonObject, link?: string): ServiceResponse {
  return { status: 200, body, headers: link === undefined ? {} : { Link: link } };
}

/** Creates an error in the form of the REST interface: a title, and perhaps messages. */
export function failure(
  status: number,
  title: string,
  messages: readonly string[] = [],
  headers: Readonly<Record<string, string>> = {},
): ServiceResponse {
  const error = messages.length === 0 ? { title } : { title, messages };
  return { status, body: { error }, headers };
}

export const NOT_FOUND = failure(404, 'The requested resource was not found');

const DOCUMENTATION =
  'https://docs.newrelic.com/docs/apis/rest-api-v2/requirements/api-overload-protection-preventing-429-errors';

/** Creates the 429 of a rate limit; `reset` is in Unix seconds. */
export function limited(limit: number, reset: number): ServiceResponse {
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

/** Returns the key of a call, and its header. */
export function sentKey(headers: IncomingHttpHeaders) {
  for (const header of ['X-Api-Key', 'Api-Key'] as const) {
    const value = headers[header.toLowerCase()];
    if (typeof value === 'string' && value !== '') return { header, value };
  }
  return undefined;
}

/** Creates the 401 for a wrong key. It repeats the key, as New Relic does. */
export function invalidKey(key: string): ServiceResponse {
  return { status: 401, body: { error: { title: 'Invalid API Key', api_key: key } }, headers: {} };
}

/** The XML elements of entries, for lists whose name without its last letter is wrong. */
const ENTRY_NAMES: Readonly<Record<string, string>> = { metrics_found: 'metric', metrics_not_found: 'metric' };

const builder = new Builder({ format: true, suppressEmptyNode: false, processEntities: true });

/** XML has no arrays: a list `servers` becomes `<servers><server>..</server></servers>`. */
function nest(value: JsonValue, name: string): unknown {
  if (Array.isArray(value)) {
    const entry = ENTRY_NAMES[name] ?? name.replace(/s$/, '');
    return { [entry]: value.map((item: JsonValue) => nest(item, entry)) };
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value as JsonObject).map(([key, item]) => [key, nest(item, key)]));
  }
  return value === null ? '' : String(value);
}

/** Writes a body as XML. The root element is the name of the first member with the suffix `_response`. */
function toXml(body: JsonObject): string {
  const root = `${Object.keys(body)[0] ?? 'empty'}_response`;
  const document = builder.build({ [root]: nest(body, root) });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${document}`;
}

/** A response as it goes over the wire. */
export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export function render({ status, body, headers }: ServiceResponse, format: 'json' | 'xml'): Rendered {
  const type = { 'Content-Type': `application/${format}; charset=utf-8` };
  return { status, headers: { ...type, ...headers }, text: format === 'xml' ? toXml(body) : JSON.stringify(body) };
}

/** Sends a response in one piece, compressed if the caller accepts gzip. */
export function send(response: ServerResponse, { status, headers, text }: Rendered): void {
  const isCompressed = text !== '' && /\bgzip\b/.test(response.req.headers['accept-encoding'] ?? '');
  const body = isCompressed ? gzipSync(text, { level: 1 }) : Buffer.from(text);
  const encoding = isCompressed ? { 'Content-Encoding': 'gzip' } : {};
  response.writeHead(status, { ...headers, ...encoding, 'Content-Length': body.length }).end(body);
}

import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import type { Rendered } from '../wire/write.ts';
import { send } from '../wire/write.ts';
import type { FaultRule } from './rule.ts';

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

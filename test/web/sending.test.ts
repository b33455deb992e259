import { once } from 'node:events';
import { createServer, ServerResponse, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { HttpError } from '../../src/web/dependencies.ts';
import { InFlightBytes } from '../../src/web/requestLimiter.ts';
import { clientGone } from '../../src/web/requestLimiter.ts';
import { sendExposition, sendPieces, sendText } from '../../src/web/sending.ts';

const PIECES = Array.from({ length: 400 }, () => Buffer.alloc(65_536, 'x'));
let server: Server | undefined;
let client: Socket | undefined;

afterEach(async () => {
  client?.destroy();
  server?.closeAllConnections();
  server?.close();
  if (server !== undefined) await once(server, 'close');
});

/** The response that a client which reads nothing asks for. */
async function askedByDeafClient(): Promise<ServerResponse> {
  const asked = new Promise<ServerResponse>((resolve) => {
    server = createServer((_request, response) => resolve(response)).listen(0, '127.0.0.1');
  });
  await once(server!, 'listening');
  client = connect((server!.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return await asked;
}

/** Sends pieces to it as a handler does. */
function send(response: ServerResponse, limitMs: number): Promise<boolean> {
  const inFlight = new InFlightBytes(() => 0);
  const gone = clientGone(response, () => inFlight.end(response));
  return sendPieces(response, PIECES, { gone, inFlight }, limitMs);
}

test.each<[what: string, limitMs: number, leaves: 'before' | 'meanwhile' | 'never']>([
  ['does not read is cut off while pieces are written', 50, 'never'],
  ['has gone before anything is written gets nothing', 60_000, 'before'],
  ['goes away ends the writing', 60_000, 'meanwhile'],
])('a client that %s', async (_, limitMs, leaves) => {
  const response = await askedByDeafClient();
  if (leaves === 'before') {
    client?.destroy();
    await once(response, 'close');
  }
  const written = send(response, limitMs);
  if (leaves === 'meanwhile') client?.destroy();
  expect([await written, response.destroyed]).toEqual([false, true]);
});

test('a refusal in the place of a compressed response is plain text', async () => {
  const response = await askedByDeafClient();
  const inFlight = new InFlightBytes(() => 0, 1);
  await inFlight.begin(new ServerResponse(response.req), [Buffer.from('full')]);
  const form = { contentType: 'text/plain', gzip: true };
  const sent = sendExposition(response, PIECES, form, { gone: clientGone(response), inFlight });
  await expect(sent).rejects.toThrow(HttpError);
  sendText(response, 503, 'full');
  expect(response.getHeader('content-encoding')).toBeUndefined();
});

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { watchClient } from '../../src/web/clientGone.ts';
import { sendPieces } from '../../src/web/sending.ts';

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

test.each<[what: string, limitMs: number, leaves: 'before' | 'meanwhile' | 'never']>([
  ['does not read is cut off while the pieces are written', 50, 'never'],
  ['disconnects before the first piece gets nothing', 60_000, 'before'],
  ['disconnects between two pieces ends the writing', 60_000, 'meanwhile'],
])('a client that %s', async (_, limitMs, leaves) => {
  const response = await askedByDeafClient();
  if (leaves === 'before') {
    client?.destroy();
    await once(response, 'close');
  }
  const written = sendPieces(response, PIECES, watchClient(response), undefined, limitMs);
  if (leaves === 'meanwhile') client?.destroy();
  await written;
  expect(response.destroyed).toBe(true);
});

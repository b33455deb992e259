import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { clientGone, ClientGoneError, unlessGone } from '../../../src/web/sending.ts';
import { requestText } from '../support/hostile.ts';

/** A request over a real connection, and what ends that connection from the client's side. */
async function asked(): Promise<{ readonly request: IncomingMessage; readonly leave: () => Promise<void> }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write(requestText('/'));
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  const leave = async (): Promise<void> => {
    const closed = once(request.socket, 'close');
    client.destroy();
    server.close();
    await closed;
  };
  return { request, leave };
}

const never = new Promise<string>(() => undefined);

describe('a client that leaves', () => {
  test('ends the waiting for work, at once where it has left before', async () => {
    const { request, leave } = await asked();
    const gone = clientGone(request);
    // The requests of one connection share it: a connection that is kept alive gathers no listeners.
    expect(clientGone(request)).toBe(gone);
    const waiting = expect(unlessGone(never, gone)).rejects.toThrow(ClientGoneError);
    expect(await unlessGone(Promise.resolve('done'), gone)).toBe('done');
    await leave();
    await waiting;
    await expect(unlessGone(never, gone)).rejects.toThrow(ClientGoneError);
  });

  test('is known to be gone where nobody looked while it was there', async () => {
    const { request, leave } = await asked();
    await leave();
    expect(clientGone(request).aborted).toBe(true);
  });
});

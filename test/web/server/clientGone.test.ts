import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { watchClient, awaitUnlessGone } from '../../../src/web/clientGone.ts';
import { requestText } from '../support/hostile.ts';

/** The response to a request over a real connection, and what ends that connection from the client's side. */
async function asked(): Promise<{ readonly response: ServerResponse; readonly leave: () => Promise<void> }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write(requestText('/'));
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const leave = async (): Promise<void> => {
    const closed = once(request.socket, 'close');
    client.destroy();
    server.close();
    await closed;
  };
  return { response, leave };
}

const never = new Promise<string>(() => undefined);

describe('a client that disconnects', () => {
  test('ends the wait for work, at once where it disconnected before the wait', async () => {
    const { response, leave } = await asked();
    const gone = watchClient(response);
    const waiting = expect(awaitUnlessGone(never, gone)).rejects.toThrow('aborted');
    expect(await awaitUnlessGone(Promise.resolve('done'), gone)).toBe('done');
    await leave();
    await waiting;
    await expect(awaitUnlessGone(never, gone)).rejects.toThrow('aborted');
  });

  test('differs from a client that has its response, and a kept-alive connection collects no listeners', async () => {
    const { response, leave } = await asked();
    const listeners = response.req.socket.listenerCount('close');
    const gone = watchClient(response);
    response.end('whole');
    await once(response, 'close');
    expect(gone.aborted).toBe(false);
    expect(response.req.socket.listenerCount('close')).toBeLessThanOrEqual(listeners);
    await leave();
    expect(gone.aborted).toBe(false);
  });

  test('counts as gone also when the first look comes after the disconnect', async () => {
    const { response, leave } = await asked();
    await leave();
    expect(watchClient(response).aborted).toBe(true);
  });
});

import express from 'express';
import { expect, test, vi } from 'vitest';
import { sendBody, AnswerSlots } from '../../../src/web/sending.ts';
import { serve } from '../support/app.ts';
import { hostileClients, requestText } from '../support/hostile.ts';
import { get } from '../support/http.ts';

const LARGE = 'x'.repeat(16_000_000);

/** Slots, two of which are held by clients that read nothing of a large answer; the first asked before the second. */
async function taken(slowMs: number, slotCount = 2) {
  const slots = new AnswerSlots(slotCount, 'Two are being answered already.', slowMs);
  let begun = 0;
  const app = express();
  app.get(
    '/large',
    slots.guard((_request, response) => {
      begun += 1;
      sendBody(response, 200, 'text/plain', LARGE);
    }),
  );
  app.get(
    '/small',
    slots.guard((_request, response) => sendBody(response, 200, 'text/plain', 'small')),
  );
  const { origin, port } = await serve(app);
  const deaf = await hostileClients(2, port, { deaf: true });
  for (const [index, { socket }] of deaf.entries()) {
    socket.write(requestText('/large'));
    await vi.waitFor(() => expect(begun).toBe(index + 1));
  }
  return { origin, deaf };
}

test('clients that are taking their answers hold their slots, others get 503', async () => {
  const { origin, deaf } = await taken(60_000);
  const got = await get(`${origin}/small`);
  expect([got.status, got.text]).toEqual([503, 'Two are being answered already.\n']);
  for (const { socket } of deaf) socket.destroy();
  await vi.waitFor(async () => expect((await get(`${origin}/small`)).status).toBe(200));
});

test('a client that takes its answer too slowly loses its slot to one that asks, the slowest first', async () => {
  const { origin, deaf } = await taken(0);
  expect((await get(`${origin}/small`)).text).toBe('small');
  const [first, second] = deaf;
  first?.socket.resume();
  await first?.closed;
  expect(second?.socket.closed).toBe(false);
  deaf.forEach(({ socket }) => socket.destroy());
});

test('a slow client keeps its slot as long as another is free', async () => {
  const { origin, deaf } = await taken(0, 3);
  for (let round = 0; round < 3; round += 1) expect((await get(`${origin}/small`)).text).toBe('small');
  const [first] = deaf;
  let bytes = 0;
  first?.socket.on('data', (chunk) => (bytes += chunk.length)).resume();
  await vi.waitFor(() => expect(bytes).toBeGreaterThan(LARGE.length));
  deaf.forEach(({ socket }) => socket.destroy());
});

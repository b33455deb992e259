import { crc32, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bodyOf } from '../../src/exposition/exposition.ts';

const PIECES = Array.from({ length: 5 }, (_, index) => {
  return Buffer.from(
    Array.from({ length: 25_000 }, (__, line) => `metric{piece="${index}"} ${line * 7919}\n`).join(''),
  );
});

/** Gives each piece in one of two buffers, which is overwritten once the second piece after it is requested. */
async function* passing(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  const buffers = [0, 1].map(() => Buffer.alloc(Math.max(0, ...pieces.map(({ length }) => length))));
  for (const [index, piece] of pieces.entries()) {
    const buffer = buffers[index % 2] ?? Buffer.alloc(0);
    yield buffer.subarray(0, piece.copy(buffer));
    await Promise.resolve();
  }
}

describe('a compressed body', () => {
  it.each([5, 1, 0])('is that of all its %i pieces, though each is overwritten soon', async (count) => {
    const pieces = PIECES.slice(0, count);
    const whole = Buffer.concat(pieces);
    const bytes = Buffer.concat(await bodyOf(passing(pieces), true));
    expect(gunzipSync(bytes).equals(whole)).toBe(true);
    expect(bytes.readUInt32LE(bytes.length - 8)).toBe(crc32(whole));
    expect(bytes.readUInt32LE(bytes.length - 4)).toBe(whole.length);
  });

  it('fails with the reason why its pieces end', async () => {
    const failing = (async function* () {
      yield* passing(PIECES);
      throw new Error('no client waits any more');
    })();
    await expect(bodyOf(failing, true)).rejects.toThrow('no client waits any more');
  });
});

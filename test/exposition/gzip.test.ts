import { crc32, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { GzipStart } from '../../src/exposition/gzip.ts';

const PIECES = Array.from({ length: 5 }, (_, index) => {
  return Buffer.from(
    Array.from({ length: 20_000 }, (__, line) => `metric{piece="${index}"} ${line * 7919}\n`).join(''),
  );
});

async function start(pieces: readonly Buffer[]) {
  const kept = new GzipStart();
  for (const piece of pieces) await kept.add(piece);
  return kept.compressed();
}

describe('a kept gzip start', () => {
  it.each(['the end\n', ''])('can be given one end after another: %j', async (end) => {
    const kept = await start(PIECES);
    for (const rest of [end, 'something else\n', end]) {
      const whole = gunzipSync(Buffer.concat(await kept.endedBy(Buffer.from(rest))));
      expect(whole.equals(Buffer.concat([...PIECES, Buffer.from(rest)]))).toBe(true);
    }
  });

  it('may be empty', async () => {
    const kept = await start([]);
    expect(gunzipSync(Buffer.concat(await kept.endedBy(Buffer.from('x')))).toString()).toBe('x');
    expect(gunzipSync(Buffer.concat(await kept.endedBy(Buffer.alloc(0))))).toHaveLength(0);
  });

  it('makes one member with the checksum and length of the whole, for readers that stop after the first', async () => {
    const rest = Buffer.from('# EOF\n');
    const whole = Buffer.concat([...PIECES, rest]);
    const bytes = Buffer.concat(await (await start(PIECES)).endedBy(rest));
    expect(bytes.readUInt32LE(bytes.length - 8)).toBe(crc32(whole));
    expect(bytes.readUInt32LE(bytes.length - 4)).toBe(whole.length);
  });

  it('can be read by a client that decodes as it downloads', async () => {
    const bytes = Buffer.concat(await (await start(PIECES)).endedBy(Buffer.from('end\n')));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    const text = await new Response(stream).text();
    expect(text.endsWith('end\n')).toBe(true);
    expect(text).toHaveLength(PIECES.reduce((sum, { length }) => sum + length, 4));
  });
});

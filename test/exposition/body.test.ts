import { crc32, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { encodeBody } from '../../src/exposition/exposition.ts';

const PARTS = Array.from({ length: 3_000 }, (_, index) => `${index} é${'x'.repeat(400)}`);

describe('the body of a response', () => {
  it.each([0, 1, PARTS.length])('holds the text of all %i parts, compressed or not', async (count) => {
    const parts = PARTS.slice(0, count);
    const text = Buffer.from(parts.join(''));
    expect(Buffer.concat(await encodeBody(parts, false)).equals(text)).toBe(true);
    const bytes = Buffer.concat(await encodeBody(parts, true));
    expect(gunzipSync(bytes).equals(text)).toBe(true);
    expect(bytes.readUInt32LE(bytes.length - 8)).toBe(crc32(text));
    expect(bytes.readUInt32LE(bytes.length - 4)).toBe(text.length);
  });

  it.each([0, 1, 2, 3])('never cuts a character of four bytes, %i bytes from the end of a piece', async (before) => {
    const text = 'x'.repeat(before) + '😀'.repeat(200_000);
    for (const parts of [[text], ['', text, '', text]]) {
      const pieces = await encodeBody(parts, false);
      expect(Buffer.concat(pieces).toString() === parts.join('')).toBe(true);
      expect(gunzipSync(Buffer.concat(await encodeBody(parts, true))).toString() === parts.join('')).toBe(true);
    }
  });

  it.each([false, true])('stops between two pieces once no client waits, compressed: %s', async (gzip) => {
    const abandoned = new AbortController();
    let rendered = 0;
    setImmediate(() => abandoned.abort());
    const endless = (function* () {
      for (;;) yield String((rendered += 1));
    })();
    await expect(encodeBody(endless, gzip, abandoned.signal)).rejects.toThrow('aborted');
    expect(rendered).toBeGreaterThan(0);
  });

  it.each([false, true])(
    'stops soon after its limit, and its length exceeds the limit, compressed: %s',
    async (gzip) => {
      let rendered = 0;
      const endless = (function* () {
        for (;;) yield String((rendered += 1));
      })();
      const bytes = Buffer.concat(await encodeBody(endless, gzip, undefined, 65_536)).length;
      expect(bytes).toBeGreaterThan(65_536);
      expect(bytes).toBeLessThan(1_000_000);
      const whole = Buffer.concat(await encodeBody(PARTS, gzip));
      expect(Buffer.concat(await encodeBody(PARTS, gzip, undefined, whole.length)).equals(whole)).toBe(true);
    },
  );

  it.each([false, true])('fails with the error of the part that cannot be rendered, compressed: %s', async (gzip) => {
    const failing = (function* () {
      yield* PARTS;
      throw new Error('a part cannot be made');
    })();
    await expect(encodeBody(failing, gzip)).rejects.toThrow('a part cannot be made');
  });
});

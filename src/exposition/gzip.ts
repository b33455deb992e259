import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

/** Level 1 makes 2.0 MB of 13.9 MB of series in 38 ms; level 6 saves 5 % more and takes two and a half times as long. */
const OPTIONS = { level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 };

/** RFC 1952, 2.3: deflate, no flags, no time, fastest, unknown system. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);

const deflateRawAsync = promisify(deflateRaw);

/**
 * The pieces of an exposition that is compressed. Beginning to compress one takes 0.3 ms of the main thread, so there should be few;
 * so many are compressed at once, and the writer waits before it makes more.
 */
export const COMPRESSED = { size: 512 * 1024, inUse: 2 };

/**
 * The beginning of a gzip stream, compressed piece by piece off the main thread, that can be kept and given different ends. Its pieces
 * stop at a byte boundary (Z_SYNC_FLUSH), so that they, and what follows, make one deflate stream. A second gzip member would be as
 * valid (RFC 1952, 2.2), but there are clients that stop reading after the first; one member is read by all.
 */
export class GzipStart {
  readonly #pieces: Promise<Buffer>[] = [];
  #crc = 0;
  #bytes = 0;

  /** Must have resolved before the next piece is added; a piece is in use until so many were added after it. */
  async add(piece: Buffer): Promise<void> {
    this.#crc = crc32(piece, this.#crc);
    this.#bytes += piece.length;
    const compressed = deflateRawAsync(piece, { ...OPTIONS, finishFlush: constants.Z_SYNC_FLUSH });
    // Copied, because what comes from zlib keeps a whole chunk.
    this.#pieces.push(compressed.then((bytes) => Buffer.from(bytes)));
    await this.#pieces.at(-COMPRESSED.inUse);
  }

  /** The same, when all that was added is compressed. */
  async compressed(): Promise<this> {
    await Promise.all(this.#pieces);
    return this;
  }

  /** A whole gzip stream of what was added and `rest`. */
  async endedBy(rest: Buffer): Promise<readonly Buffer[]> {
    const end = await deflateRawAsync(rest, OPTIONS);
    const trailer = Buffer.alloc(8);
    // Of no bytes at all, zlib's crc32 is 0 whatever it started from.
    trailer.writeUInt32LE(rest.length === 0 ? this.#crc : crc32(rest, this.#crc), 0);
    trailer.writeUInt32LE((this.#bytes + rest.length) % 2 ** 32, 4);
    return [HEADER, ...(await Promise.all(this.#pieces)), end, trailer];
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CollectionConfig } from '../config/config.ts';
import type { RenderOptions } from '../exposition/exposition.ts';
import { acceptsGzip, negotiate } from '../exposition/negotiate.ts';
import type { RenderedAnswer } from '../exposition/rendered.ts';
import { writePieces } from './respond.ts';

/** Milliseconds that the last answer of each kind took to render and write. */
export class WriteTimes {
  readonly #times = new Map<string, number>();

  of(kind: string): number {
    return this.#times.get(kind) ?? 0;
  }

  set(kind: string, milliseconds: number): void {
    this.#times.set(kind, Math.max(0, milliseconds));
  }
}

/** The format and compression that a request asks for, and the guard of the configuration. */
export function wantedBy(
  request: IncomingMessage,
  { max_series: maxSeries }: Pick<CollectionConfig, 'max_series'>,
): RenderOptions {
  const { accept, 'accept-encoding': encoding } = request.headers;
  return {
    format: negotiate(accept),
    gzip: acceptsGzip(typeof encoding === 'string' ? encoding : undefined),
    maxSeries,
  };
}

/** Writes an exposition; resolves to false when the client did not take all of it. */
export async function writeAnswer(response: ServerResponse, answer: RenderedAnswer): Promise<boolean> {
  response.setHeader('Content-Type', answer.contentType);
  response.setHeader('Vary', 'Accept, Accept-Encoding');
  if (answer.contentEncoding !== undefined) response.setHeader('Content-Encoding', answer.contentEncoding);
  return await writePieces(response, answer.pieces);
}

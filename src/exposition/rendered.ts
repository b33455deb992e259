/** An answer ready to be written: the pieces are written one after the other, with back pressure. */
export interface RenderedAnswer {
  readonly contentType: string;
  readonly contentEncoding: 'gzip' | undefined;
  readonly pieces: readonly Buffer[];
}

import type { IncomingMessage } from 'node:http';

const MOST_BYTES = 1024 * 1024;

/** The whole text of a request body. Throws when it is over a megabyte. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`the request body is over ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The parameters of a call: those of its address, and those of its form body, where `curl -d` puts them. */
export async function parameters(request: IncomingMessage, search: string): Promise<URLSearchParams> {
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  if (!isForm) return new URLSearchParams(search);
  const form = await readBody(request);
  return new URLSearchParams(search === '' ? form : `${search}&${form}`);
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendText } from './respond.ts';

/** No endpoint reads a body; one of this many bytes is still let go by. */
const MAX_BODY_BYTES = 4096;

/** Answers 413 to a request that announces or sends a larger body, and closes its connection; true when refused at once. */
export function refuseLargeBody(request: IncomingMessage, response: ServerResponse): boolean {
  const refuse = () => {
    if (response.headersSent) {
      request.destroy();
      return;
    }
    response.setHeader('Connection', 'close');
    response.once('finish', () => request.destroy());
    sendText(response, 413, `No endpoint takes a request body of more than ${MAX_BODY_BYTES} bytes.`);
  };
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) {
    refuse();
    return true;
  }
  if (request.headers['transfer-encoding'] === undefined) {
    request.resume();
    return false;
  }
  let received = 0;
  const count = (chunk: Buffer) => {
    received += chunk.length;
    if (received <= MAX_BODY_BYTES) return;
    request.off('data', count);
    refuse();
  };
  request.on('data', count);
  return false;
}

import type { IncomingMessage } from 'node:http';

/** An address taken apart, undecoded. */
export interface Target {
  readonly path: string;
  readonly search: string;
}

export function targetOf(request: IncomingMessage): Target {
  const url = request.url ?? '/';
  const at = url.indexOf('?');
  return at < 0 ? { path: url, search: '' } : { path: url.slice(0, at), search: url.slice(at + 1) };
}

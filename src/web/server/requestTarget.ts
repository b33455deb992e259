import type { IncomingMessage } from 'node:http';
import { isHostHeader } from './hostHeader.ts';

/**
 * Brings the target of a request into the form of a path that begins with a slash. A target may also come in the
 * absolute form, `http://host/path`, as every server must accept (RFC 9112, 3.2.2); its host counts then, not that of
 * the `Host` header. False where the target is neither.
 */
export function normaliseTarget(request: IncomingMessage): boolean {
  const target = request.url ?? '';
  if (target.startsWith('/')) return true;
  const { host, rest } = /^https?:\/\/(?<host>[^/?#]*)(?<rest>[^#]*)/i.exec(target)?.groups ?? {};
  if (host === undefined || rest === undefined || !isHostHeader(host)) return false;
  request.headers.host = host;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  return true;
}

/** True where it is not clear which host is meant (RFC 9112, 3.2): another server on the way may have taken the other one. */
export function namesSeveralHosts({ headersDistinct }: IncomingMessage): boolean {
  return (headersDistinct.host?.length ?? 0) > 1;
}

import { resolve } from './address.ts';

/**
 * The origin to call instead when upstream answers a plain HTTP call with 301: the same host over HTTPS, at the port the
 * `Location` names (the vendor's page "301 response for REST API calls"). The published example names `http` in its `Location` although it means
 * HTTPS, so only the host has to be the same. Undefined for any other redirect: the key goes to no other host.
 *
 * @param asked the address of the call
 */
export function httpsUpgrade(asked: URL, status: number, location: string | undefined): string | undefined {
  if (status !== 301 || asked.protocol !== 'http:') return undefined;
  const target = resolve(location, asked);
  if (target?.hostname !== asked.hostname || !['http:', 'https:'].includes(target.protocol)) return undefined;
  target.protocol = 'https:';
  return target.origin;
}

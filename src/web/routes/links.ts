import type { WebSettings } from '../dependencies.ts';

type Addressing = Pick<WebSettings, 'routePrefix' | 'externalUrl'>;

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': ':80', 'https:': ':443' };

/** A prefix as it stands before a path: empty, or `/exporter` without a slash at its end. */
export function normalisePrefix(prefix: string): string {
  const inner = prefix.replace(/^\/+|\/+$/g, '');
  return inner === '' ? '' : `/${inner}`;
}

/** The prefix of links on our pages: as a user's browser must write it, through the reverse proxy. */
export function linkPrefix({ routePrefix, externalUrl }: Addressing): string {
  return normalisePrefix(externalUrl?.pathname ?? routePrefix);
}

/**
 * Path prefix and scheme under which a scraper reaches us again at the `Host` it used: those of the external address
 * when it came through that, our own otherwise.
 */
export function wayBack(
  addressing: Addressing,
  host: string,
  secure: boolean,
): { readonly prefix: string; readonly scheme: 'http' | 'https' } {
  const { externalUrl, routePrefix } = addressing;
  if (externalUrl !== undefined && isSameHost(externalUrl, host)) {
    return {
      prefix: normalisePrefix(externalUrl.pathname),
      scheme: externalUrl.protocol === 'https:' ? 'https' : 'http',
    };
  }
  return { prefix: normalisePrefix(routePrefix), scheme: secure ? 'https' : 'http' };
}

function isSameHost(url: URL, host: string): boolean {
  const wanted = host.toLowerCase();
  const port = url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? '') : `:${url.port}`;
  return wanted === url.host || wanted === `${url.hostname}${port}`;
}

import type { Request } from 'express';
import type { WebDependencies, Handler } from '../dependencies.ts';
import { sendText } from '../sending.ts';

/** `/-/healthy`: 503 only when the collector makes no progress, never for upstream faults or a pause. */
export function healthyHandler(deps: WebDependencies): Handler {
  return (_request, response) => {
    if (deps.collector().progressing()) sendText(response, 200, 'Healthy');
    else
      sendText(
        response,
        503,
        'The collector makes no progress: there is work to start and none has been for too long.',
      );
  };
}

/** `/-/ready`: 200 from the moment a scrape can be answered until shutdown begins. */
export function readyHandler(deps: WebDependencies): Handler {
  return (_request, response) => {
    if (deps.stopping()) sendText(response, 503, 'Shutting down');
    else if (deps.collection().background && !deps.collector().refreshedOnce) {
      sendText(response, 503, 'The first refresh has not ended yet');
    } else sendText(response, 200, 'Ready');
  };
}

/**
 * `/-/reload`: 403 unless enabled, and for a request that a browser sends for a page of somebody else; 500 with the faults
 * when the file is invalid.
 */
export function reloadHandler({ reload, settings }: WebDependencies): Handler {
  return async (request, response) => {
    if (reload === undefined) {
      sendText(
        response,
        403,
        'Reloading over HTTP is off; start the exporter with --web.enable-lifecycle to allow it.',
      );
      return;
    }
    if (isOfAnotherSite(request, settings.externalUrl)) {
      sendText(response, 403, 'A page of another site may not reload the exporter.');
      return;
    }
    const result = await reload();
    if (result.ok) sendText(response, 200, 'Reloaded');
    else sendText(response, 500, ['The configuration is invalid; the running one stays.', ...result.faults].join('\n'));
  };
}

/** Only browsers send these headers, and no page can change them. */
function isOfAnotherSite({ headers }: Request, externalUrl: URL | undefined): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  if (origin === undefined || origin === externalUrl?.origin) return false;
  const own = `http://${host}`;
  return !URL.canParse(origin) || !URL.canParse(own) || new URL(origin).host !== new URL(own).host;
}

import type { IncomingMessage } from 'node:http';
import express from 'express';
import type { Express, Request, RequestHandler, Response } from 'express';
import { clientGone } from './clientGone.ts';
import { scrapeLimiter } from './requestLimiter.ts';
import { pageSender, sendInternalError, sendText } from './sending.ts';
import { type WebDependencies, type Handler, HttpError, linkPrefix, normalisePrefix, PATHS } from './dependencies.ts';
import { discoveryHandler } from './routes/discovery.ts';
import { LastScrapes, metricsHandler, probeHandler } from './routes/scrape.ts';
import { statusPages } from './statusPage/page.ts';
import { WritePlaces } from './writePlaces.ts';

const STUCK = 'The collector makes no progress: there is work to start and none has been for too long.';

/** The application with every endpoint, under the route prefix. `app.get` answers `HEAD` too. */
export function createApp(deps: WebDependencies): Express {
  const app = express();
  app.set('env', 'production');
  app.set('query parser', (query: string | null) => new URLSearchParams(query ?? ''));
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.disable('etag');
  app.disable('x-powered-by');
  app.use((_request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    next();
  });

  const prefix = normalisePrefix(deps.settings.routePrefix);
  const { maxRequests, telemetryPath } = deps.settings;
  const places = new WritePlaces(() => deps.monotonic());
  const limited = scrapeLimiter(maxRequests);
  const sendPage = pageSender(deps.mask.text);
  /** Wraps a handler: an internal error is reported to `failed` and answered with a sentence, never with a stack. */
  const safely = (handler: Handler): RequestHandler<object, unknown, unknown, URLSearchParams> => {
    return async (request, response) => {
      const gone = clientGone(response);
      try {
        await handler(request, response, { gone, mayWait: true, places });
      } catch (error) {
        if (gone.aborted) request.socket.destroy();
        else if (error instanceof HttpError) sendText(response, error.status, error.message);
        else {
          deps.failed(error);
          sendInternalError(response);
        }
      }
    };
  };
  const read = (path: string, handler: Handler): void => {
    app.get(literal(path), safely(handler));
    app.all(literal(path), methodNotAllowed('GET, HEAD'));
  };
  const lastScrapes = new LastScrapes();
  const { page, json, config } = statusPages(deps, sendPage, lastScrapes);

  // Registered first: a telemetry path of "/" replaces the status page.
  read(`${prefix}${telemetryPath}`, limited(metricsHandler(deps, lastScrapes)));
  read(`${prefix}${PATHS.probe}`, limited(probeHandler(deps, lastScrapes)));
  read(`${prefix}${PATHS.discovery}`, discoveryHandler(deps, sendPage));
  read(`${prefix}/`, page);
  read(`${prefix}${PATHS.status}`, json);
  read(`${prefix}${PATHS.config}`, config);
  // 503 only when the collector makes no progress, never for errors of New Relic or a pause.
  read(`${prefix}${PATHS.healthy}`, (_request, response) => {
    if (deps.collector().progressing()) sendText(response, 200, 'Healthy');
    else sendText(response, 503, STUCK);
  });
  read(`${prefix}${PATHS.ready}`, (_request, response) => {
    if (deps.stopping()) sendText(response, 503, 'Shutting down');
    else if (deps.collector().isReady) sendText(response, 200, 'Ready');
    else sendText(response, 503, 'Not everything has been tried once yet');
  });
  const reload = literal(`${prefix}${PATHS.reload}`);
  app.post(reload, safely(reloadHandler(deps)));
  app.put(reload, safely(reloadHandler(deps)));
  app.all(reload, methodNotAllowed('POST, PUT'));
  if (prefix !== '') {
    read(prefix, page);
    read('/', (_request, response) => response.redirect(302, `${linkPrefix(deps.settings)}/`));
  }
  const endpoints = new Set(['/', telemetryPath, ...Object.values(PATHS)]);
  const known = Array.from(endpoints, (path) => prefix + path).join(', ');
  app.use((_request, response) => sendText(response, 404, `Not found. There are ${known}`));
  return app;
}

/** A path in which no character has a special meaning to Express. */
function literal(path: string): string {
  return path.replace(/[\\(){}[\]*:!+?]/g, '\\$&');
}

function methodNotAllowed(allowed: string) {
  return (_request: Request, response: Response): void => {
    response.setHeader('Allow', allowed);
    sendText(response, 405, `Method not allowed: use ${allowed.replace(', ', ' or ')}`);
  };
}

/** `/-/reload`: 403 unless enabled, and for browsers on other sites; 500 with the diagnostics of an invalid file. */
function reloadHandler({ reload, settings }: WebDependencies): Handler {
  return async (request, response) => {
    if (reload === undefined) {
      throw new HttpError(
        403,
        'Reloading over HTTP is off; start the exporter with --web.enable-lifecycle to allow it.',
      );
    }
    if (isOfAnotherSite(request, settings.externalUrl)) {
      throw new HttpError(403, 'A page of another site may not reload the exporter.');
    }
    const faults = await reload();
    if (faults.length === 0) sendText(response, 200, 'Reloaded');
    else sendText(response, 500, ['The configuration is invalid; the running one stays.', ...faults].join('\n'));
  };
}

/** True for a request that a page of another site made. Browsers set these headers, and no page can change them. */
function isOfAnotherSite({ headers }: IncomingMessage, externalUrl: URL | undefined): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  if (origin === undefined || origin === externalUrl?.origin) return false;
  const own = `http://${host}`;
  return !URL.canParse(origin) || !URL.canParse(own) || new URL(origin).host !== new URL(own).host;
}

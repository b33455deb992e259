import type { IncomingMessage } from 'node:http';
import express from 'express';
import type { Express, RequestHandler } from 'express';
import { watchClient } from './clientGone.ts';
import { createScrapeLimiter } from './requestLimiter.ts';
import { createPageSender, sendInternalError, sendText } from './sending.ts';
import { type WebDependencies, type Handler, HttpError, linkPrefix, normalisePrefix, PATHS } from './dependencies.ts';
import { discoveryHandler } from './routes/discovery.ts';
import { LastScrapes, metricsHandler, probeHandler } from './routes/scrape.ts';
import { createStatusPages } from './statusPage/page.ts';
import { WritePlaces } from './writePlaces.ts';

const STUCK = 'The collector makes no progress: work is due, but nothing has started for too long.';

/** Creates the application with all endpoints under the route prefix. */
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
  const limitScrapes = createScrapeLimiter(maxRequests);
  const sendPage = createPageSender(deps.mask.text);
  /** Adds a path behind the prefix. Reports an internal error to `failed`, and never sends its stack to the client. */
  const addRoute = (path: string, handler: Handler, methods = ['GET', 'HEAD']): void => {
    const answer: RequestHandler<object, unknown, unknown, URLSearchParams> = async (request, response) => {
      const gone = watchClient(response);
      try {
        if (!methods.includes(request.method)) {
          response.setHeader('Allow', methods.join(', '));
          throw new HttpError(405, `Method not allowed: use ${methods.join(' or ')}`);
        }
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
    // Escapes the characters of a path that have a special meaning in Express.
    app.all(path.replace(/[\\(){}[\]*:!+?]/g, '\\$&'), answer);
  };
  const lastScrapes = new LastScrapes();
  const { page, json, config } = createStatusPages(deps, sendPage, lastScrapes);

  // Registered first, so that a telemetry path of "/" replaces the status page.
  addRoute(`${prefix}${telemetryPath}`, limitScrapes(metricsHandler(deps, lastScrapes)));
  addRoute(`${prefix}${PATHS.probe}`, limitScrapes(probeHandler(deps, lastScrapes)));
  addRoute(`${prefix}${PATHS.discovery}`, discoveryHandler(deps, sendPage));
  addRoute(`${prefix}/`, page);
  addRoute(`${prefix}${PATHS.status}`, json);
  addRoute(`${prefix}${PATHS.config}`, config);
  // Errors of New Relic and pauses never make the exporter unhealthy.
  addRoute(`${prefix}${PATHS.healthy}`, (_request, response) => {
    if (deps.collector().progressing()) sendText(response, 200, 'Healthy');
    else sendText(response, 503, STUCK);
  });
  addRoute(`${prefix}${PATHS.ready}`, (_request, response) => {
    if (deps.stopping()) sendText(response, 503, 'Shutting down');
    else if (deps.collector().isReady) sendText(response, 200, 'Ready');
    else sendText(response, 503, 'Not ready: some reads have not been tried yet');
  });
  addRoute(`${prefix}${PATHS.reload}`, reloadHandler(deps), ['POST', 'PUT']);
  if (prefix !== '') {
    addRoute(prefix, page);
    addRoute('/', (_request, response) => response.redirect(302, `${linkPrefix(deps.settings)}/`));
  }
  const endpoints = new Set(['/', telemetryPath, ...Object.values(PATHS)]);
  const knownPaths = Array.from(endpoints, (path) => prefix + path).join(', ');
  app.use((_request, response) => sendText(response, 404, `Not found. Endpoints: ${knownPaths}`));
  return app;
}

const RELOAD_OFF = 'Reloading over HTTP is off; start the exporter with --web.enable-lifecycle to allow it.';

/** Handles `/-/reload`. Sends the diagnostics of an invalid file. */
function reloadHandler({ reload, settings }: WebDependencies): Handler {
  return async (request, response) => {
    if (reload === undefined) throw new HttpError(403, RELOAD_OFF);
    if (isCrossSite(request, settings.externalUrl)) {
      throw new HttpError(403, 'Refused: a page of another site requested the reload.');
    }
    const faults = await reload();
    const lines = ['The configuration is invalid; the exporter keeps the running one.', ...faults];
    if (faults.length === 0) sendText(response, 200, 'Reloaded');
    else sendText(response, 500, lines.join('\n'));
  };
}

/** True for a request from a page of another site. Browsers set these headers; pages cannot change them. */
function isCrossSite({ headers }: IncomingMessage, externalUrl: URL | undefined): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  if (origin === undefined || origin === externalUrl?.origin) return false;
  const requested = `http://${host}`;
  return !URL.canParse(origin) || !URL.canParse(requested) || new URL(origin).host !== new URL(requested).host;
}

import compression from 'compression';
import express from 'express';
import type { Express, Request, Response } from 'express';
import { AnswerPlaces, AnswersUnderWay, ClientGoneError, NoRoomError, sendFault, sendText } from './sending.ts';
import { type WebDependencies, type Handler, PATHS } from './dependencies.ts';
import { discoveryHandler } from './routes/discovery.ts';
import { healthyHandler, readyHandler, reloadHandler } from './routes/lifecycle.ts';
import { linkPrefix, normalisePrefix, BadQueryError } from './request.ts';
import { metricsHandler, probeHandler } from './routes/scrape.ts';
import { statusPages } from './routes/statusPages.ts';

/** Pages that are answered at once: each may hold megabytes until its client has taken it. */
const MAX_PAGES = 64;

/** The application with every endpoint, under the route prefix. `app.get` answers `HEAD` too. */
export function createApp(deps: WebDependencies): Express {
  const app = express();
  app.set('env', 'production');
  app.set('query parser', false);
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
  const at = (path: string): string => literal(`${prefix}${path}`);
  const { maxRequests } = deps.settings;
  const underWay = new AnswersUnderWay(() => deps.monotonic());
  const scrapes = new AnswerPlaces(
    maxRequests,
    `${maxRequests} scrapes are being answered already (--web.max-requests); try again later.`,
    underWay,
  );
  const pages = new AnswerPlaces(
    MAX_PAGES,
    `${MAX_PAGES} pages are being answered already; try again later.`,
    underWay,
  );
  const compress = compression();
  const safe = (handler: Handler): Handler => safely(handler, (error) => deps.failed(error));
  const { page, json, config } = statusPages(deps);
  const telemetryPath = at(deps.settings.telemetryPath);
  const read = [telemetryPath, at(PATHS.probe), at(PATHS.discovery), at('/'), at(PATHS.status), at(PATHS.config)];
  read.push(at(PATHS.healthy), at(PATHS.ready));

  // First: a telemetry path of "/" takes the place of the status page.
  app.get(telemetryPath, safe(scrapes.guard(metricsHandler(deps))));
  app.get(at(PATHS.probe), safe(scrapes.guard(probeHandler(deps))));
  app.get(at(PATHS.discovery), compress, safe(pages.guard(discoveryHandler(deps))));
  app.get(at('/'), compress, safe(pages.guard(page)));
  app.get(at(PATHS.status), compress, safe(pages.guard(json)));
  app.get(at(PATHS.config), compress, safe(pages.guard(config)));
  app.get(at(PATHS.healthy), safe(healthyHandler(deps)));
  app.get(at(PATHS.ready), safe(readyHandler(deps)));
  app.post(at(PATHS.reload), safe(reloadHandler(deps)));
  app.put(at(PATHS.reload), safe(reloadHandler(deps)));
  if (prefix !== '') {
    app.get(at(''), compress, safe(pages.guard(page)));
    app.get('/', (_request, response) => response.redirect(302, `${linkPrefix(deps.settings)}/`));
    read.push(at(''), '/');
  }
  app.all(read, methodNotAllowed('GET, HEAD'));
  app.all(at(PATHS.reload), methodNotAllowed('POST, PUT'));
  app.use((_request, response) => sendText(response, 404, 'Not found'));
  return app;
}

/** A path in which no character means more than itself to Express. */
function literal(path: string): string {
  return path.replace(/[\\(){}[\]*:!+?]/g, '\\$&');
}

function methodNotAllowed(allowed: string) {
  return (_request: Request, response: Response): void => {
    response.setHeader('Allow', allowed);
    sendText(response, 405, 'Method not allowed');
  };
}

/** The handler; a fault of our own is told to `failed` and answered with a sentence, never a stack. */
function safely(handler: Handler, failed: (error: unknown) => void): Handler {
  return async (request, response) => {
    try {
      await handler(request, response);
    } catch (error) {
      if (error instanceof ClientGoneError) request.socket.destroy();
      else if (error instanceof BadQueryError) sendText(response, 400, error.message);
      else if (error instanceof NoRoomError) sendText(response, 503, error.message);
      else {
        failed(error);
        sendFault(response);
      }
    }
  };
}

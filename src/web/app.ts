import compression from 'compression';
import express from 'express';
import type { Express } from 'express';
import type { WebDependencies } from './dependencies.ts';
import { linkPrefix, normalisePrefix } from './links.ts';
import { dispatch, type Handler, type Route } from './routes.ts';
import { discoveryHandler } from './routes/discovery.ts';
import { healthyHandler, readyHandler, reloadHandler } from './routes/lifecycle.ts';
import { metricsHandler } from './routes/metrics.ts';
import { probeHandler } from './routes/probe.ts';
import { configHandler, statusJsonHandler, statusPageHandler } from './routes/status.ts';
import { ScrapeSlots } from './scrapeSlots.ts';

/** The application with every endpoint of contract 3, under the route prefix. */
export function createApp(deps: WebDependencies): Express {
  const app = express();
  app.set('env', 'production');
  app.set('query parser', false);
  app.disable('etag');
  app.disable('x-powered-by');
  app.use((_request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    next();
  });
  app.use(dispatch(routesOf(deps), (error) => deps.failed(error)));
  return app;
}

function routesOf(deps: WebDependencies): ReadonlyMap<string, Route> {
  const prefix = normalisePrefix(deps.settings.routePrefix);
  const slots = new ScrapeSlots(deps.settings.maxRequests);
  const statusPage: Route = { GET: compressed(statusPageHandler(deps)) };
  const reload = reloadHandler(deps);
  const routes = new Map<string, Route>([
    [`${prefix}/`, statusPage],
    [`${prefix}/probe`, { GET: slots.guard(probeHandler(deps)) }],
    [`${prefix}/sd`, { GET: compressed(discoveryHandler(deps)) }],
    [`${prefix}/api/status`, { GET: compressed(statusJsonHandler(deps)) }],
    [`${prefix}/config`, { GET: compressed(configHandler(deps)) }],
    [`${prefix}/-/healthy`, { GET: healthyHandler(deps) }],
    [`${prefix}/-/ready`, { GET: readyHandler(deps) }],
    [`${prefix}/-/reload`, { POST: reload, PUT: reload }],
  ]);
  if (prefix !== '') {
    routes.set(prefix, statusPage);
    routes.set('/', { GET: (_request, response) => response.redirect(302, `${linkPrefix(deps.settings)}/`) });
  }
  // Last: a telemetry path of "/" takes the place of the status page.
  routes.set(`${prefix}${deps.settings.telemetryPath}`, { GET: slots.guard(metricsHandler(deps)) });
  return routes;
}

/** Pages are compressed here; expositions come compressed from the renderer. */
function compressed(handler: Handler): Handler {
  const compress = compression();
  return async (request, response) => {
    await new Promise<void>((resolve) => {
      compress(request, response, () => resolve());
    });
    await handler(request, response);
  };
}

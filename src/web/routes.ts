import type { Request, RequestHandler, Response } from 'express';
import { BadQueryError } from './query.ts';
import { sendText } from './respond.ts';

export type Handler = (request: Request, response: Response) => void | Promise<void>;

/** What one path answers. A `GET` answers `HEAD` too. */
export type Route = Readonly<Partial<Record<'GET' | 'POST' | 'PUT', Handler>>>;

/**
 * Finds the route of a path, by the exact path: 404 for an unknown one, 405 with `Allow` for another method, both
 * in plain text (contract 3). A fault of our own is told to `failed` and answered with a sentence, never a stack.
 */
export function dispatch(routes: ReadonlyMap<string, Route>, failed: (error: unknown) => void): RequestHandler {
  return async (request: Request, response: Response) => {
    const route = routes.get(request.path);
    if (route === undefined) {
      sendText(response, 404, 'Not found');
      return;
    }
    const handler = handlerOf(route, request.method);
    if (handler === undefined) {
      response.setHeader('Allow', allowed(route));
      sendText(response, 405, 'Method not allowed');
      return;
    }
    try {
      await handler(request, response);
    } catch (error) {
      answerError(response, error, failed);
    }
  };
}

function answerError(response: Response, error: unknown, failed: (error: unknown) => void): void {
  if (error instanceof BadQueryError) {
    sendText(response, 400, error.message);
    return;
  }
  failed(error);
  if (response.headersSent) response.destroy();
  else sendText(response, 500, 'Internal error; the log of the exporter has the reason.');
}

function handlerOf(route: Route, method: string): Handler | undefined {
  switch (method) {
    case 'GET':
    case 'HEAD':
      return route.GET;
    case 'POST':
      return route.POST;
    case 'PUT':
      return route.PUT;
    default:
      return undefined;
  }
}

function allowed(route: Route): string {
  return Object.keys(route)
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .join(', ');
}

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { BasicAuthenticator } from './basicAuth.ts';
import { refuseLargeBody } from './bodyLimit.ts';
import type { TokenBucket } from './rateLimit.ts';
import { cutOffSlowReader, sendText } from './respond.ts';
import type { WebConfigStore } from './webConfigStore.ts';

/**
 * What stands between a socket and the application: limits, and the web configuration's headers, rate limit and users,
 * in the order of the exporter toolkit. `bucket` is fixed at the start; the rest follows the file.
 */
export function createGate(
  app: RequestListener,
  store: WebConfigStore,
  bucket: TokenBucket | undefined,
  failed: (error: unknown) => void,
): RequestListener {
  const authenticator = new BasicAuthenticator();
  const admit = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const current = store.current();
    if ('faults' in current) {
      sendText(response, 500, 'The web configuration is invalid; the log of the exporter has the faults.');
      return;
    }
    const { headers, users } = current.config;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (bucket?.take() === false) {
      sendText(response, 429, 'Too many requests: rate_limit of the web configuration.');
      return;
    }
    if (users.size > 0 && !(await authenticator.allows(users, request.headers.authorization))) {
      response.setHeader('WWW-Authenticate', 'Basic');
      sendText(response, 401, 'Unauthorized');
      return;
    }
    app(request, response);
  };
  return (request, response) => {
    cutOffSlowReader(response);
    if (refuseLargeBody(request, response)) return;
    if (!isPlainTarget(request.url)) {
      sendText(response, 400, 'Bad request: the request target must be a path that begins with "/".');
      return;
    }
    admit(request, response).catch((error: unknown) => {
      failed(error);
      if (!response.headersSent) sendText(response, 500, 'Internal error; the log of the exporter has the reason.');
      else response.destroy();
    });
  };
}

/** Proxies' absolute form and `*` are not served; what is left cannot upset any parser behind. */
function isPlainTarget(target: string | undefined): boolean {
  return target?.startsWith('/') === true;
}

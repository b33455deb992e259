import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { cutOffSlowReader, sendText } from '../answer.ts';
import { BasicAuthenticator } from '../authentication/basicAuth.ts';
import type { Compare } from '../authentication/comparisonQueue.ts';
import type { WebConfigStore } from '../webConfig/store.ts';
import { clientGone } from './clientGone.ts';
import type { TokenBucket } from './rateLimit.ts';
import { announcesLargeBody, MAX_BODY_BYTES, takeBody } from './requestBody.ts';
import { namesSeveralHosts, normaliseTarget } from './requestTarget.ts';

export interface GateOptions {
  readonly app: RequestListener;
  readonly store: WebConfigStore;
  /** Fixed at the start; what else the web configuration says follows its file. */
  readonly bucket: TokenBucket | undefined;
  readonly compare: Compare;
  /** A fault of our own that a request ran into; answered with 500. */
  readonly failed: (error: unknown) => void;
}

/**
 * What stands between a connection and the application: limits, and the web configuration's headers, rate limit and
 * users, in the order of the exporter toolkit.
 */
export function createGate({ app, store, bucket, compare, failed }: GateOptions): RequestListener {
  const authenticator = new BasicAuthenticator(compare);
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
    if (users.size > 0) {
      const asker = { address: request.socket.remoteAddress ?? '', gone: clientGone(request) };
      const verdict = await authenticator.judge(users, request.headers.authorization, asker);
      if (verdict !== 'right') {
        refuse(response, verdict);
        return;
      }
    }
    if (!(await takeBody(request))) {
      refuseBody(response);
      return;
    }
    app(request, response);
  };
  return (request, response) => {
    cutOffSlowReader(response);
    if (announcesLargeBody(request)) refuseBody(response);
    else if (namesSeveralHosts(request)) {
      sendText(response, 400, 'Bad request: it has more than one Host header.');
    } else if (!normaliseTarget(request)) {
      sendText(response, 400, 'Bad request: the target must be a path that begins with "/", or an http address.');
    } else {
      admit(request, response).catch((error: unknown) => {
        failed(error);
        if (!response.headersSent) sendText(response, 500, 'Internal error; the log of the exporter has the reason.');
        else request.socket.destroy();
      });
    }
  };
}

function refuse(response: ServerResponse, verdict: 'wrong' | 'busy'): void {
  if (verdict === 'busy') {
    response.setHeader('Retry-After', '5');
    sendText(response, 429, 'Too many passwords wait to be checked; try again later.');
    return;
  }
  response.setHeader('WWW-Authenticate', 'Basic');
  sendText(response, 401, 'Unauthorized');
}

/** Refuses the request and closes its connection: the rest of the body is not read. */
function refuseBody(response: ServerResponse): void {
  response.setHeader('Connection', 'close');
  sendText(response, 413, `No endpoint takes a request body of more than ${MAX_BODY_BYTES} bytes.`);
}

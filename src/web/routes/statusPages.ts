import type { Group } from '../../metrics/sample.ts';
import type { WebDependencies, Handler } from '../dependencies.ts';
import { linkPrefix, queryOf } from '../request.ts';
import { sendBody } from '../sending.ts';
import { statusDocument } from '../statusPage/statusDocument.ts';
import { breakdownsOf } from '../statusPage/breakdown.ts';
import { statusPage } from '../statusPage/page.ts';
import { CONTENT_SECURITY_POLICY } from '../statusPage/style.ts';

const BREAKDOWN_GROUPS: ReadonlySet<Group> = new Set(['application_metrics']);
const MAX_SEARCH_LENGTH = 200;

/** The status page; `?q=` searches, `?page=` turns pages. Calls nothing upstream. */
export function statusPageHandler(deps: WebDependencies): Handler {
  return async (request, response) => {
    const query = queryOf(request.originalUrl);
    const { accounts, blocks } = await deps.collector().answer({ groups: BREAKDOWN_GROUPS });
    const page = statusPage({
      accounts,
      breakdowns: breakdownsOf(blocks),
      now: deps.now() / 1000,
      version: deps.settings.version,
      prefix: linkPrefix(deps.settings),
      telemetryPath: deps.settings.telemetryPath,
      search: (query.get('q') ?? '').slice(0, MAX_SEARCH_LENGTH),
      page: /^\d{1,6}$/.test(query.get('page') ?? '') ? Number(query.get('page')) : 1,
    });
    // Added to a policy of the web configuration, not in its place: a browser obeys both.
    response.append('Content-Security-Policy', CONTENT_SECURITY_POLICY);
    response.setHeader('Referrer-Policy', 'no-referrer');
    sendBody(response, 200, 'text/html; charset=utf-8', page);
  };
}

/** The same as JSON (`/api/status`). */
export function statusJsonHandler(deps: WebDependencies): Handler {
  return async (_request, response) => {
    const { accounts, blocks } = await deps.collector().answer({ groups: BREAKDOWN_GROUPS });
    const document = statusDocument(accounts, breakdownsOf(blocks), deps.settings.version, deps.now() / 1000);
    sendBody(response, 200, 'application/json; charset=utf-8', JSON.stringify(document));
  };
}

/** The running configuration, as plain text so that a browser shows it. */
export function configHandler(deps: WebDependencies): Handler {
  return (_request, response) => {
    sendBody(response, 200, 'text/plain; charset=utf-8', deps.configText());
  };
}

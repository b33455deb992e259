import type { Answer } from '../../collect/view.ts';
import type { Group } from '../../metrics/sample.ts';
import type { WebDependencies } from '../dependencies.ts';
import { linkPrefix, queryOf } from '../request.ts';
import { sendPage, type PlacedHandler } from '../sending.ts';
import { breakdownsOf, type Breakdown } from '../statusPage/breakdown.ts';
import { statusPage } from '../statusPage/page.ts';
import { statusDocument } from '../statusPage/statusDocument.ts';
import { CONTENT_SECURITY_POLICY } from '../statusPage/style.ts';

const BREAKDOWN_GROUPS: ReadonlySet<Group> = new Set(['application_metrics']);
const MAX_SEARCH_LENGTH = 200;

interface StatusPages {
  /** The status page; `?q=` searches, `?page=` turns pages. */
  readonly page: PlacedHandler;
  /** The same as JSON (`/api/status`). */
  readonly json: PlacedHandler;
  /** The running configuration, as plain text so that a browser shows it. */
  readonly config: PlacedHandler;
}

/**
 * The pages for people, which call nothing upstream. Requests that come while a page is being made get that page: twenty at
 * once cost as much as one.
 */
export function statusPages(deps: WebDependencies): StatusPages {
  const views = new SharedWork<Pick<Answer, 'accounts'> & { readonly breakdowns: ReadonlyMap<string, Breakdown> }>();
  const bodies = new SharedWork<Buffer>();
  const view = () =>
    views.of('', async () => {
      const { accounts: read, blocks } = await deps.collector().answer({ groups: BREAKDOWN_GROUPS });
      const accounts = read.map((account) => ({
        ...account,
        queries: account.queries.map((query) => ({ ...query, nrql: deps.mask(query.nrql) })),
      }));
      return { accounts, breakdowns: breakdownsOf(blocks) };
    });

  return {
    page: async (request, response, place) => {
      const query = queryOf(request.originalUrl);
      const search = (query.get('q') ?? '').slice(0, MAX_SEARCH_LENGTH);
      const page = /^\d{1,6}$/.test(query.get('page') ?? '') ? Number(query.get('page')) : 1;
      const body = await bodies.of(`page ${page} ${search}`, async () => {
        const { accounts, breakdowns } = await view();
        return Buffer.from(
          statusPage({
            accounts,
            breakdowns,
            now: deps.now() / 1000,
            version: deps.settings.version,
            prefix: linkPrefix(deps.settings),
            telemetryPath: deps.settings.telemetryPath,
            docs: deps.settings.docs,
            search,
            page,
          }),
        );
      });
      // Added to a policy of the web configuration, not in its place: a browser obeys both.
      response.append('Content-Security-Policy', CONTENT_SECURITY_POLICY);
      response.setHeader('Referrer-Policy', 'no-referrer');
      await sendPage(response, place, 'text/html; charset=utf-8', body);
    },
    json: async (_request, response, place) => {
      const body = await bodies.of('json', async () => {
        const { accounts, breakdowns } = await view();
        const document = statusDocument(accounts, breakdowns, deps.settings.version, deps.now() / 1000);
        return Buffer.from(JSON.stringify(document));
      });
      await sendPage(response, place, 'application/json; charset=utf-8', body);
    },
    config: async (_request, response, place) => {
      const body = await bodies.of('config', () => Promise.resolve(Buffer.from(deps.configText())));
      await sendPage(response, place, 'text/plain; charset=utf-8', body);
    },
  };
}

/** Work that is done once for all who ask for the same while it goes on. */
class SharedWork<T> {
  readonly #going = new Map<string, Promise<T>>();

  of(what: string, start: () => Promise<T>): Promise<T> {
    const going = this.#going.get(what) ?? start().finally(() => this.#going.delete(what));
    this.#going.set(what, going);
    return going;
  }
}

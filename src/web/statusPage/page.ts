import type { Group } from '../../metrics/sample.ts';
import { PATHS, type ReloadFailure, type WebDependencies, type WebSettings } from '../dependencies.ts';
import { linkPrefix, queryOf } from '../request.ts';
import type { LimitedHandler, RequestSlot } from '../requestLimiter.ts';
import type { SendPage } from '../sending.ts';
import { SharedWork } from '../sharedWork.ts';
import { accountSection, hasGroup } from './accountSection.ts';
import { applicationsSection } from './applicationsSection.ts';
import { withBreakdowns, type ShownAccount } from './breakdown.ts';
import { html, timeInWords, type Html, counted } from './markup.ts';
import { reloadNotice } from './notices.ts';
import { statusDocument } from './statusDocument.ts';
import { CONTENT_SECURITY_POLICY, STYLE_ELEMENT } from './style.ts';

const BREAKDOWN_GROUPS: ReadonlySet<Group> = new Set(['application_metrics']);
const MAX_SEARCH_LENGTH = 200;

/**
 * The pages for people, which make no call to New Relic: the status page (`?q=` searches, `?page=` turns pages), the same as
 * JSON, and the running configuration. Pages of different searches share the view of the accounts.
 */
export function statusPages(
  deps: WebDependencies,
  sendPage: SendPage,
): Record<'page' | 'json' | 'config', LimitedHandler> {
  const views = new SharedWork<{ readonly accounts: readonly ShownAccount[]; readonly now: number }>('end');
  const view = ({ gone }: RequestSlot) =>
    views.of('', gone, async (abandoned) => {
      const { accounts, blocks } = await deps.collector().overview({ groups: BREAKDOWN_GROUPS }, abandoned);
      const shown = (await withBreakdowns(accounts, blocks, abandoned)).map((account) => ({
        ...account,
        queries: account.queries.map((query) => ({ ...query, nrql: deps.mask(query.nrql) })),
      }));
      return { accounts: shown, now: deps.now() / 1000 };
    });

  return {
    page: async (request, response, slot) => {
      const query = queryOf(request.originalUrl);
      const search = (query.get('q') ?? '').slice(0, MAX_SEARCH_LENGTH);
      const page = /^\d{1,6}$/.test(query.get('page') ?? '') ? Number(query.get('page')) : 1;
      const { accounts, now } = await view(slot);
      // The policy is added to one of the web configuration and does not replace it, because a browser obeys both.
      response.append('Content-Security-Policy', CONTENT_SECURITY_POLICY);
      response.setHeader('Referrer-Policy', 'no-referrer');
      const shown = { settings: deps.settings, reloadFailure: deps.reloadFailure() };
      await sendPage(response, slot, 'text/html; charset=utf-8', `page ${page} of ${now}: ${search}`, () => [
        statusPage(accounts, search, page, shown, now),
      ]);
    },
    json: async (_request, response, slot) => {
      const { accounts, now } = await view(slot);
      await sendPage(response, slot, 'application/json; charset=utf-8', `status of ${now}`, () =>
        statusDocument(accounts, deps.reloadFailure(), deps.settings.version, now),
      );
    },
    config: (_request, response, slot) =>
      sendPage(response, slot, 'text/plain; charset=utf-8', 'config', () => [deps.configText()]),
  };
}

/** The complete status page, without scripts or external resources. `now` is Unix seconds. */
function statusPage(
  accounts: readonly ShownAccount[],
  search: string,
  page: number,
  { settings, reloadFailure }: { readonly settings: WebSettings; readonly reloadFailure: ReloadFailure | undefined },
  now: number,
): string {
  const prefix = linkPrefix(settings);
  const links: [string, string][] = [
    [settings.telemetryPath, 'Metrics'],
    [PATHS.config, 'Configuration'],
    [PATHS.discovery, 'Service discovery'],
    [PATHS.status, 'This page as JSON'],
  ];
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>newrelic-apm-exporter</title>
        <link rel="icon" href="data:," />
        ${STYLE_ELEMENT}
      </head>
      <body>
        <header>
          <h1>newrelic-apm-exporter <small>${settings.version}</small></h1>
          <nav aria-label="Endpoints">${links.map(([path, text]) => html`<a href="${prefix}${path}">${text}</a>`)}</nav>
        </header>
        <main>
          ${overview(accounts, reloadFailure)} ${reloadNotice(reloadFailure, now)}
          <p class="asof">As of ${timeInWords(now)}. <a href="${prefix}/">Refresh</a></p>
          ${worstFirst(accounts).map((account) => accountSection(account, sectionOf(accounts, account), now, settings.docs))}
          ${readsApplications(accounts) ? applicationsSection(accounts, search, page, `${prefix}/`) : undefined}
        </main>
      </body>
    </html>`.markup;
}

function readsApplications(accounts: readonly ShownAccount[]): boolean {
  return accounts.some((account) => hasGroup(account, 'applications'));
}

/** A summary such as `2 accounts, 14 applications, 120 entities`, with the problems at a glance. */
function overview(accounts: readonly ShownAccount[], reloadFailure: ReloadFailure | undefined): Html {
  const applications = accounts.flatMap((account) => account.applications ?? []).length;
  const types = accounts.flatMap(({ entities }) => entities);
  const entities = types.reduce((total, { exported }) => total + exported, 0);
  const queries = accounts.flatMap((account) => account.queries).length;
  const contents = [
    counted(accounts.length, 'account'),
    ...(readsApplications(accounts) ? [counted(applications, 'application')] : []),
    ...(types.length > 0 ? [counted(entities, 'entity', 'entities')] : []),
    ...(queries > 0 ? [counted(queries, 'query', 'queries')] : []),
  ];
  const unread = accounts.filter(isUnread);
  const failing = accounts.filter((account) => failingTasks(account) > 0);
  const tasks = failing.reduce((total, account) => total + failingTasks(account), 0);
  const named = (some: readonly ShownAccount[]): Html => accountLinks(accounts, some);
  const wrong = [
    ...(unread.length > 0 ? [html` ${counted(unread.length, 'account')} cannot be read: ${named(unread)}.`] : []),
    ...(reloadFailure === undefined ? [] : [html` The last reload failed.`]),
    ...(tasks > 0 ? [html` The last attempt failed for ${counted(tasks, 'task')} of ${named(failing)}.`] : []),
  ];
  const warnings = accounts.flatMap((account) => account.warnings).length;
  const verdict = [
    wrong.length > 0 ? html`<span class="bad">${wrong}</span>` : undefined,
    warnings > 0 ? html` <span class="warn">${counted(warnings, 'warning')}.</span>` : undefined,
    wrong.length + warnings === 0 ? html` <span class="good">No failures.</span>` : undefined,
  ];
  return html`<p class="overview">${contents.join(', ')}.${verdict}</p>`;
}

function isUnread({ refused, outage }: ShownAccount): boolean {
  return refused !== undefined || outage !== undefined;
}

function failingTasks({ tasks }: ShownAccount): number {
  return tasks.filter(({ problem }) => problem !== undefined).length;
}

/** Accounts that cannot be read first, then those with failing tasks; otherwise in the order of the configuration. */
function worstFirst(accounts: readonly ShownAccount[]): readonly ShownAccount[] {
  const rank = (account: ShownAccount): number => (isUnread(account) ? 0 : failingTasks(account) > 0 ? 1 : 2);
  return accounts.toSorted((a, b) => rank(a) - rank(b));
}

function sectionOf(accounts: readonly ShownAccount[], account: ShownAccount): string {
  return `account-${accounts.indexOf(account) + 1}`;
}

const NAMED_ACCOUNTS = 5;

/** The names of the first of some accounts, each a link to its section, and the number of the others. */
function accountLinks(accounts: readonly ShownAccount[], some: readonly ShownAccount[]): Html {
  const rest = some.length - NAMED_ACCOUNTS;
  const links = some
    .slice(0, NAMED_ACCOUNTS)
    .map((account) => html`<a href="#${sectionOf(accounts, account)}"><bdi>${account.name}</bdi></a>`);
  return html`${links.map((link, index) => html`${index > 0 ? ', ' : ''}${link}`)}${rest > 0 ? ` and ${rest} more` : ''}`;
}

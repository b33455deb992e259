import type { Group } from '../../reads/reads.ts';
import { type Client, linkPrefix, PATHS } from '../dependencies.ts';
import type { Handler, WebDependencies, WebSettings } from '../dependencies.ts';
import type { LastScrapes } from '../routes/scrape.ts';
import type { createPageSender } from '../sending.ts';
import { SharedWork } from '../sharedWork.ts';
import { timeInWords } from '../../text/wording.ts';
import { accountSections } from './accountSection.ts';
import { addressOf, monitoredSections, type Query } from './applicationsSection.ts';
import { markup, CROSS, list, NONE, Html, TICK } from './markup.ts';
import { findProblems } from './problems.ts';
import { problemSection } from './problemSection.ts';
import { joinAccounts } from './shownAccounts.ts';
import { statusDocument, type View } from './statusDocument.ts';
import { CONTENT_SECURITY_POLICY, STYLE_ELEMENT } from './style.ts';
import { listRows } from './trouble.ts';
import { judge } from './verdict.ts';

const SHOWN_GROUPS = new Set<Group>(['applications', 'application_metrics', 'entities', 'golden_metrics']);
const MAX_LENGTH = 200;
const REFRESH_SECONDS = 30;

/** Creates the handlers of the status page, its JSON, and the running configuration. None calls New Relic. */
export function createStatusPages(
  deps: WebDependencies,
  sendPage: ReturnType<typeof createPageSender>,
  scrapes: LastScrapes,
) {
  const { settings } = deps;
  const prefix = linkPrefix(settings);
  const views = new SharedWork<View>();
  const collectView = ({ gone }: Client) =>
    views.share('', gone, async (abandoned) => {
      const { accounts: all, entries, blocks } = await deps.collector().overview({ groups: SHOWN_GROUPS }, abandoned);
      const accounts = await joinAccounts(all, blocks, abandoned);
      const { background, max_age: maxAge } = deps.collection();
      const { newest } = scrapes;
      const situation = {
        ...{ accounts, entries, background, maxAge: maxAge / 1000, scraped: `${prefix}${settings.telemetryPath}` },
        rows: await listRows(accounts, abandoned),
        reloadFailure: deps.reloadFailure(),
        now: deps.now() / 1000,
        silence: newest === undefined ? undefined : (deps.monotonic() - newest) / 1000,
      };
      const problems = findProblems(situation);
      return { ...situation, problems, verdict: judge(situation, problems), lastScrapes: scrapes.list };
    });

  return {
    page: async (request, response, client) => {
      const parameters = request.query;
      const query = {
        path: `${prefix}/`,
        search: (parameters.get('q') ?? '').slice(0, MAX_LENGTH),
        type: parameters.get('type')?.slice(0, MAX_LENGTH),
        page: /^\d{1,6}$/.test(parameters.get('page') ?? '') ? Number(parameters.get('page')) : 1,
        refreshes: parameters.get('refresh') !== '0',
        isOpen: parameters.get('open') === '1',
      };
      const shown = await collectView(client);
      // Appended, so that a policy of the web configuration stays: browsers obey both.
      response.append('Content-Security-Policy', CONTENT_SECURITY_POLICY);
      response.setHeader('Referrer-Policy', 'no-referrer');
      const key = `page of ${shown.now}: ${JSON.stringify(query)}`;
      const parts = () => statusPage(shown, query, settings, prefix);
      await sendPage(response, client, 'text/html; charset=utf-8', key, parts);
    },
    json: async (_request, response, client) => {
      const shown = await collectView(client);
      const parts = () => statusDocument(shown, settings.version);
      await sendPage(response, client, 'application/json; charset=utf-8', `status of ${shown.now}`, parts);
    },
    config: (_request, response, client) =>
      sendPage(response, client, 'text/plain; charset=utf-8', 'config', () => [deps.configText()]),
  } satisfies Record<string, Handler>;
}

const LOOKS = { bad: [CROSS, 'b3261e'], warn: ['!', '8a5300'], good: [TICK, '1a7034'] } as const;
const PARTS = '<!-- parts -->';

/** Yields the parts of the status page, without scripts or external resources. */
function* statusPage(view: View, query: Query, settings: WebSettings, prefix: string): Generator<string> {
  const { entries, verdict, now, scraped: metrics } = view;
  const isIdle = ['nothing_read', 'not_scraped', 'incomplete'].includes(verdict.verdict);
  const [sign, colour] = LOOKS[verdict.style];
  const refresh = query.refreshes ? 'Stop refreshing' : `Refresh every ${REFRESH_SECONDS} s`;
  const warnings = entries.flatMap(({ entry, warnings: each }) => each.map((warning) => `${entry}: ${warning}`));
  const [head = '', foot = ''] = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
${query.refreshes ? markup`<meta http-equiv="refresh" content="${REFRESH_SECONDS}" />` : undefined}
<title>${verdict.count > 0 ? `(${verdict.count}) ` : ''}${verdict.verdict.replace('_', ' ')} ${NONE} newrelic-apm-exporter</title>
<link rel="icon" href="${drawIcon(sign, colour)}" />
${STYLE_ELEMENT}
</head>
<body>
<header>
<h1 class="verdict ${verdict.style}"><span class="sign" aria-hidden="true">${sign}</span>
<span>${verdict.text} ${isIdle ? markup`<a href="${metrics}">Read now</a>` : undefined}</span></h1>
${problemSection(view, query, settings.docs)}
<div class="about"><span>newrelic-apm-exporter ${settings.version}</span>
<span>As of ${timeInWords(now)} <a href="${addressOf(query, { refreshes: !query.refreshes })}">${refresh}</a></span>
<nav aria-label="Endpoints"><a href="${metrics}">Metrics</a> <a href="${prefix}${PATHS.config}">Configuration</a>
<a href="${prefix}${PATHS.discovery}">Service discovery</a> <a href="${prefix}${PATHS.status}">This page as JSON</a></nav></div>
</header>
<main>${list('notice warn', warnings)} ${searchForm(query)} ${new Html(PARTS)}</main>
</body>
</html>`.text.split(PARTS);
  yield head;
  for (const part of monitoredSections(view, query)) yield part.text;
  for (const part of accountSections(view, query)) yield part.text;
  yield foot;
}

function searchForm(query: Query): Html {
  const { path, search, type, refreshes, isOpen } = query;
  const hidden = { type, refresh: refreshes ? undefined : '0', open: isOpen ? '1' : undefined };
  const inputs = Object.entries(hidden).map(
    ([name, value]) => value && markup`<input type="hidden" name="${name}" value="${value}" />`,
  );
  const all = markup`<a href="${addressOf(query, { search: '', type: undefined, page: 1 })}">Show all</a>`;
  return markup`<form class="search" method="get" action="${path}" role="search">
<label for="q">Find by name, account or id</label>
<input id="q" name="q" type="search" value="${search}" maxlength="${MAX_LENGTH}" autocomplete="off" />${inputs}
<button type="submit">Find</button> ${search === '' && type === undefined ? undefined : all}</form>`;
}

function drawIcon(sign: string, colour: string): string {
  const text = `<text x="8" y="13" font-size="13" font-weight="bold" text-anchor="middle" fill="#fff">${sign}</text>`;
  const image = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#${colour}"/>${text}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(image)}`;
}

import type { AccountStatus } from '../dependencies.ts';
import { accountSection } from './accountSection.ts';
import { applicationsSection, applicationRows, search, colours } from './applicationsSection.ts';
import type { Breakdown } from './breakdown.ts';
import { html, timeInWords, type Html, counted } from './markup.ts';
import { STYLE_ELEMENT } from './style.ts';

interface PageInputs {
  readonly accounts: readonly AccountStatus[];
  readonly breakdowns: ReadonlyMap<string, Breakdown>;
  /** Unix seconds. */
  readonly now: number;
  readonly version: string;
  /** Before every link, such as `` or `/exporter`. */
  readonly prefix: string;
  readonly telemetryPath: string;
  /** Where the pages of the documentation are. */
  readonly docs: string;
  readonly search: string;
  readonly page: number;
}

/** The status page, whole, without script or outside resource. */
export function statusPage(inputs: PageInputs): string {
  const { accounts, breakdowns, now, prefix } = inputs;
  const rows = applicationRows(accounts, breakdowns);
  const address = `${prefix}/`;
  const links: [string, string][] = [
    [inputs.telemetryPath, 'Metrics'],
    ['/config', 'Configuration'],
    ['/sd', 'Service discovery'],
    ['/api/status', 'This page as JSON'],
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
          <h1>newrelic-apm-exporter <small>${inputs.version}</small></h1>
          <nav aria-label="Endpoints">${links.map(([path, text]) => html`<a href="${prefix}${path}">${text}</a>`)}</nav>
        </header>
        <main>
          ${overview(accounts)}
          <p class="asof">As of ${timeInWords(now)}. <a href="${address}">Refresh</a></p>
          ${accounts.map((account) => accountSection(account, now, inputs.docs))}
          ${applicationsSection({
            rows: search(rows, inputs.search),
            total: rows.length,
            search: inputs.search,
            page: inputs.page,
            address,
            coloursOf: colours(breakdowns.values()),
          })}
        </main>
      </body>
    </html>`.markup;
}

/** `2 accounts, 14 applications`, and what is wrong at a glance. */
function overview(accounts: readonly AccountStatus[]): Html {
  const applications = accounts.reduce((total, account) => total + (account.applications?.length ?? 0), 0);
  const failing = accounts.reduce(
    (total, { entities }) => total + entities.filter(({ problem }) => problem !== undefined).length,
    0,
  );
  const unread = accounts.filter(({ refused, up, applications: list }) => {
    return refused !== undefined || (!up && list !== undefined);
  });
  const wrong = [
    ...(unread.length > 0 ? [`${counted(unread.length, 'account')} cannot be read.`] : []),
    ...(failing > 0 ? [`The last attempt failed for ${counted(failing, 'entity', 'entities')}.`] : []),
  ];
  const warnings = accounts.reduce((total, account) => total + account.warnings.length, 0);
  const verdict = [
    wrong.length > 0 ? html`<span class="bad">${wrong.join(' ')}</span>` : undefined,
    warnings > 0 ? html` <span class="warn">${counted(warnings, 'warning')}.</span>` : undefined,
    wrong.length + warnings === 0 ? html`<span class="good">Nothing fails.</span>` : undefined,
  ];
  return html`<p class="overview">
    ${counted(accounts.length, 'account')}, ${counted(applications, 'application')}. ${verdict}
  </p>`;
}

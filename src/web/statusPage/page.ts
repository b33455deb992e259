import type { AccountStatus } from '../dependencies.ts';
import { accountSection } from './account.ts';
import { applicationsSection } from './applications.ts';
import { applicationRows, search } from './applicationRows.ts';
import { colours } from './bar.ts';
import type { Breakdown } from './breakdown.ts';
import { html } from './html.ts';
import { overview } from './overview.ts';
import { STYLE_ELEMENT } from './style.ts';
import { timeInWords } from './words.ts';

export interface PageInputs {
  readonly accounts: readonly AccountStatus[];
  readonly breakdowns: ReadonlyMap<string, Breakdown>;
  /** Unix seconds. */
  readonly now: number;
  readonly version: string;
  /** Before every link, such as `` or `/exporter`. */
  readonly prefix: string;
  readonly telemetryPath: string;
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
          ${accounts.map((account) => accountSection(account, now))}
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

import type { ApplicationRow } from './applicationRows.ts';
import { drawBar, legend, swatch, type ColoursOf } from './bar.ts';
import { html, type Html } from './html.ts';
import { counted, DOT, inWords } from './words.ts';

const PAGE_SIZE = 50;

export interface ApplicationsView {
  /** Those that match the search. */
  readonly rows: readonly ApplicationRow[];
  /** How many there are without the search. */
  readonly total: number;
  readonly search: string;
  /** Counts from 1; cut to the pages there are. */
  readonly page: number;
  /** Where the form and the page links go. */
  readonly address: string;
  readonly coloursOf: ColoursOf;
}

/** The response-time breakdown of every application, searchable and in pages. */
export function applicationsSection(view: ApplicationsView): Html {
  const pages = Math.max(1, Math.ceil(view.rows.length / PAGE_SIZE));
  const page = Math.min(Math.max(1, view.page), pages);
  const shown = view.rows.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  return html`<section aria-labelledby="applications">
    <h2 id="applications">Response time of each application</h2>
    ${searchForm(view)}
    <p class="key">
      ${swatch('queue')} request queueing ${swatch('c0')}${swatch('c1')}${swatch('c2')} components (database, caches,
      external services) ${swatch('total')} application code: what is left of the total time. The line across a bar ends
      the response time; work done in parallel lasts longer. Each bar fills its line: compare the numbers, not the
      lengths.
    </p>
    ${shown.length === 0 ? html`<p>${nothingToShow(view)}</p>` : undefined}
    <ol class="applications" start="${(page - 1) * PAGE_SIZE + 1}">
      ${shown.map((row) => applicationItem(row, view.coloursOf))}
    </ol>
    ${pages > 1 ? pageLinks(view, page, pages) : undefined}
  </section>`;
}

function applicationItem({ account, application, breakdown, absence }: ApplicationRow, coloursOf: ColoursOf): Html {
  const { responseTime } = breakdown ?? {};
  const colourOf = breakdown === undefined ? undefined : coloursOf(breakdown);
  return html`<li>
    <div class="title">
      <h3><bdi>${application.name}</bdi></h3>
      <span class="of"
        ><bdi>${account}</bdi
        >/${application.id}${application.language === undefined ? '' : html`${DOT}<bdi>${application.language}</bdi>`}</span
      >
      ${responseTime === undefined ? undefined : html`<span class="response">${inWords(responseTime)}</span>`}
    </div>
    ${breakdown === undefined || colourOf === undefined ? html`<p class="absent">No breakdown: ${absence}</p>` : html`${drawBar(breakdown, colourOf)}${legend(breakdown, colourOf)}${belowZero(breakdown.parts)}`}
  </li>`;
}

function belowZero(parts: readonly { kind: string; seconds: number }[]): Html | undefined {
  const below = parts.some(({ kind, seconds }) => kind === 'total' && seconds < 0);
  return below
    ? html`<p class="absent">
        Application code is below zero: components overlapped, their times add up to more than the whole.
      </p>`
    : undefined;
}

function searchForm({ search, address, rows, total }: ApplicationsView): Html {
  const found = search === '' ? counted(total, 'application') : `${rows.length} of ${counted(total, 'application')}`;
  return html`<form class="search" method="get" action="${address}" role="search">
    <label for="q">Search by name, account or id</label>
    <input id="q" name="q" type="search" value="${search}" maxlength="200" autocomplete="off" />
    <button type="submit">Search</button>
    <span>${found}</span>
    ${search === '' ? undefined : html`<a href="${address}">Show all</a>`}
  </form>`;
}

function nothingToShow({ search, total }: ApplicationsView): string {
  if (total === 0) return 'No application list has been read yet; a scrape of the metrics reads it.';
  return `No application matches "${search}".`;
}

function pageLinks({ address, search }: ApplicationsView, page: number, pages: number): Html {
  const link = (to: number, text: string, rel: string) =>
    to < 1 || to > pages
      ? html`<span class="off">${text}</span>`
      : html`<a
          rel="${rel}"
          href="${address}?${new URLSearchParams({ ...(search === '' ? {} : { q: search }), page: String(to) }).toString()}#applications"
          >${text}</a
        >`;
  return html`<nav class="pages" aria-label="Pages of applications">
    ${link(page - 1, 'Previous', 'prev')} <span>Page ${page} of ${pages}</span> ${link(page + 1, 'Next', 'next')}
  </nav>`;
}

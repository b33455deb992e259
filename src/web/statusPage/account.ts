import type { AccountStatus, BudgetStatus } from '../dependencies.ts';
import { failingEntities, slowestEntities } from './entities.ts';
import { groupTable } from './groups.ts';
import { html, type Html } from './html.ts';
import { ago, counted, inWords, timeInWords, trim } from './words.ts';

const INTERFACES: Readonly<Record<NonNullable<AccountStatus['api']>, string>> = {
  rest: 'REST API (v2)',
  nerdgraph: 'NerdGraph',
};

/** From this many days before its end, the end of an interface stands out. */
const NEAR_END_DAYS = 90;

/** One account: its state, its budget, its groups, and what fails or is slow. `now` is Unix seconds. */
export function accountSection(account: AccountStatus, now: number): Html {
  const labels = Object.entries(account.labels).map(
    ([name, value]) => html`<li><bdi>${name}</bdi>=<bdi>${value}</bdi></li>`,
  );
  return html`<section class="account">
    <h2><span class="kind">Account</span> <bdi>${account.name}</bdi> ${stateBadge(account)}</h2>
    ${
      labels.length > 0
        ? html`<ul class="labels" aria-label="Labels">
            ${labels}
          </ul>`
        : undefined
    }
    ${account.refused === undefined ? undefined : html`<p class="notice bad"><b>Stopped.</b> ${account.refused}</p>`}
    ${pauseNotice(account.budget, now)}
    ${
      account.warnings.length > 0
        ? html`<ul class="notice warn" aria-label="Warnings">
            ${account.warnings.map((warning) => html`<li>${warning}</li>`)}
          </ul>`
        : undefined
    }
    ${endNotice(account, now)}
    <dl class="facts">
      <div>
        <dt>Interface</dt>
        <dd>${INTERFACES[account.api]}</dd>
      </div>
      <div>
        <dt>Applications</dt>
        <dd>${account.applications === undefined ? 'not read yet' : account.applications.length}</dd>
      </div>
      <div>
        <dt>Newest window served</dt>
        <dd>${windowInWords(account.windowEnd, now)}</dd>
      </div>
      <div>
        <dt>Calls in the last minute</dt>
        <dd>${budgetInWords(account.budget)}</dd>
      </div>
      <div>
        <dt>A steady state takes</dt>
        <dd>${planInWords(account.plan)}</dd>
      </div>
    </dl>
    ${groupTable(account.groups, now)} ${failingEntities(account.entities)} ${slowestEntities(account.entities)}
  </section>`;
}

function stateBadge({ refused, up, applications, budget, entities }: AccountStatus): Html {
  if (refused !== undefined) return html`<span class="badge bad">refused</span>`;
  if (budget.pausedUntil !== undefined) return html`<span class="badge warn">paused</span>`;
  const failing = entities.filter(({ problem }) => problem !== undefined).length;
  if (up && failing > 0) return html`<span class="badge warn">up, ${failing} failing</span>`;
  if (up) return html`<span class="badge good">up</span>`;
  return applications === undefined
    ? html`<span class="badge warn">not read yet</span>`
    : html`<span class="badge bad">down</span>`;
}

function endNotice({ endOfLife }: AccountStatus, now: number): Html | undefined {
  if (endOfLife === undefined) return undefined;
  const days = Math.floor((endOfLife - now) / 86_400);
  const date = new Date(endOfLife * 1000).toISOString().slice(0, 10);
  const what = 'New Relic ends the REST API (v2) of this account';
  if (days < 0)
    return html`<p class="notice bad"><b>Ended.</b> ${what} on ${date}: set <code>api: nerdgraph</code>.</p>`;
  return html`<p class="${days < NEAR_END_DAYS ? 'notice warn' : 'soft'}">
    ${what} on ${date}, in ${counted(days, 'day')}; <code>api: nerdgraph</code> replaces it.
  </p>`;
}

function pauseNotice({ pausedUntil }: BudgetStatus, now: number): Html | undefined {
  if (pausedUntil === undefined) return undefined;
  return html`<p class="notice warn">
    <b>Paused</b> until ${timeInWords(pausedUntil)}, ${inWords(Math.max(0, Math.ceil(pausedUntil - now)))} from now: the
    service asked for no further calls.
  </p>`;
}

function windowInWords(end: number | undefined, now: number): string {
  return end === undefined ? 'none yet' : `ends ${timeInWords(end)}, ${ago(end, now)}`;
}

function budgetInWords(budget: BudgetStatus): Html {
  const { configured, inForce, inFlight, lastMinute } = budget;
  const used = Math.min(100, (100 * lastMinute) / Math.max(1, configured));
  const reduced = inForce < configured ? ` (${Math.floor(inForce)} in force now)` : '';
  return html`${lastMinute} of ${configured}${reduced}, ${inFlight} in flight
    <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="100" height="6" />
      <rect class="used" width="${used.toFixed(1)}" height="6" />
    </svg>`;
}

function planInWords({ callsPerMinute, budget, stretch }: AccountStatus['plan']): string {
  const calls = `${trim(callsPerMinute)} calls a minute`;
  return stretch > 1 ? `${calls}, more than the ${trim(budget)} of the budget: every group gets slower` : calls;
}

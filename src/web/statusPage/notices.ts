import type { AccountStatus, EntryStatus } from '../../collect/accountStatus.ts';
import { describeEnd } from '../../config/config.ts';
import type { ReloadFailure } from '../dependencies.ts';
import { ago, counted, durationInWords, timeInWords } from '../../text/wording.ts';
import { failureTable } from './failureTable.ts';
import type { ShownAccount } from './shownAccounts.ts';
import { short } from './verdict.ts';
import { breakable, facts, html, list, type Html } from './markup.ts';

/** Seconds before the end of an interface from which its notice is highlighted. */
const NEAR_END = 180 * 86_400;

const SHOWN_DIAGNOSTICS = 5;

/** A notice that the last reload failed: since when, why, and what to do. `now` is Unix seconds, as all times here. */
export function reloadNotice(failure: ReloadFailure | undefined, now: number): Html | undefined {
  if (failure === undefined) return undefined;
  const { at, diagnostics } = failure;
  const rest = diagnostics.length - SHOWN_DIAGNOSTICS;
  return html`<div class="notice bad" role="alert">
    <b>The last reload failed</b> at ${timeInWords(at)}, ${ago(at, now)}. The exporter runs with the configuration that
    it had before. Correct the file, look at it with the command <code>check</code>, and reload.
    ${list('', [...diagnostics.slice(0, SHOWN_DIAGNOSTICS), ...(rest > 0 ? [`and ${counted(rest, 'more fault')}`] : [])])}
  </div>`;
}

/** A notice about the list of accounts of an entry: that it fails, or what is likely a mistake. */
export function listNotice({ entry, problem, remedy, since, warnings }: EntryStatus, now: number): Html | undefined {
  if (problem === undefined && warnings.length === 0) return undefined;
  const failure =
    problem === undefined || since === undefined
      ? undefined
      : html`<b>The list of accounts of <bdi>${entry}</bdi> cannot be read</b> since ${timeInWords(since)},
          ${ago(since, now)}; its accounts stay as they were. ${breakable(problem)}. What to do: ${remedy}.`;
  return html`<div class="notice ${problem === undefined ? 'warn' : 'bad'}" role="alert">
    ${failure}
    ${list(
      '',
      warnings.map((warning) => html`<bdi>${entry}</bdi>: ${warning}`),
    )}
  </div>`;
}

/** What an operator should know of an account first, the most severe first; why it cannot be read stands at the top of the page. */
export function accountNotices(account: ShownAccount, now: number, docs: string): readonly (Html | undefined)[] {
  return [
    outageNotice(account, now),
    pauseNotice(account.budget, now),
    failureTable(
      account.failures.filter(({ problem }) => problem !== account.outage?.problem),
      now,
      docs,
    ),
    list('notice warn', account.warnings),
    endNotice(account, now),
  ];
}

function outageNotice({ outage, refused }: AccountStatus, now: number): Html | undefined {
  const why = outage?.problem ?? refused ?? '';
  // The top of the page has the whole of a text that is not longer.
  const whole: Parameters<typeof facts>[1] = short(why) === why ? [] : [['Why', breakable(why)]];
  if (outage === undefined) {
    return whole.length === 0 ? undefined : html`<div class="notice bad">${facts('', whole)}</div>`;
  }
  const { since, remedy, servedUntil } = outage;
  return html`<div class="notice bad" role="alert">
    <b>The account cannot be read</b> since ${timeInWords(since)}, ${ago(since, now)}.
    ${facts('', [
      ...whole,
      ['What to do', `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`],
      ['Served', servedInWords(servedUntil, now)],
    ])}
  </div>`;
}

function servedInWords(until: number | undefined, now: number): string {
  if (until === undefined) return 'Nothing: there are no good values, or they are too old.';
  return `The last good values, at the longest until ${timeInWords(until)}, ${durationInWords(Math.max(0, Math.ceil(until - now)))} from now.`;
}

function pauseNotice({ pausedUntil }: AccountStatus['budget'], now: number): Html | undefined {
  if (pausedUntil === undefined) return undefined;
  const left = durationInWords(Math.max(0, Math.ceil(pausedUntil - now)));
  return html`<p class="notice warn">
    <b>Paused</b> until ${timeInWords(pausedUntil)}, ${left} from now: New Relic asked us to stop calling.
  </p>`;
}

function endNotice({ endOfLife }: AccountStatus, now: number): Html | undefined {
  if (endOfLife === undefined) return undefined;
  const style = endOfLife < now ? 'notice bad' : endOfLife - now < NEAR_END ? 'notice warn' : 'soft';
  return html`<p class="${style}">The account is read through ${describeEnd(endOfLife, now)}.</p>`;
}

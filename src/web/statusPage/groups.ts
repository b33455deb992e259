import type { GroupStatus } from '../dependencies.ts';
import { html, type Html } from './html.ts';
import { ago, inWords } from './words.ts';

/** The groups of an account: how often they are refreshed, how the last refresh ended, and how old they are. */
export function groupTable(groups: readonly GroupStatus[], now: number): Html {
  return html`<table class="stack">
    <caption>
      Groups
    </caption>
    <thead>
      <tr>
        <th scope="col">Group</th>
        <th scope="col">Interval</th>
        <th scope="col">Last refresh</th>
        <th scope="col">Last success</th>
        <th scope="col">Fresh</th>
        <th scope="col">Stale</th>
        <th scope="col">Missing</th>
        <th scope="col">Oldest window</th>
      </tr>
    </thead>
    <tbody>
      ${groups.map((group) => groupRow(group, now))}
    </tbody>
  </table>`;
}

function groupRow(group: GroupStatus, now: number): Html {
  const { entities, lastSuccess, oldestWindowEnd } = group;
  return html`<tr>
    <th scope="row">${group.group}</th>
    <td data-label="Interval">${intervalInWords(group)}</td>
    <td data-label="Last refresh">${refreshInWords(group)}</td>
    <td data-label="Last success">
      ${lastSuccess === undefined ? 'never' : html`<time datetime="${new Date(lastSuccess * 1000).toISOString()}">${ago(lastSuccess, now)}</time>`}
    </td>
    <td data-label="Fresh" class="number">${entities.fresh}</td>
    <td data-label="Stale" class="number${entities.stale > 0 ? ' warn' : ''}">${entities.stale}</td>
    <td data-label="Missing" class="number${entities.missing > 0 ? ' bad' : ''}">${entities.missing}</td>
    <td data-label="Oldest window">
      ${hasWindows(group) && oldestWindowEnd !== undefined ? ago(oldestWindowEnd, now) : '–'}
    </td>
  </tr>`;
}

/** Lists and names are of the moment they were read, not of a window. */
function hasWindows({ group }: GroupStatus): boolean {
  return group === 'application_metrics' || group === 'host_metrics' || group === 'custom_metrics';
}

function intervalInWords({ intervalSeconds, effectiveIntervalSeconds }: GroupStatus): string {
  const configured = inWords(intervalSeconds);
  if (effectiveIntervalSeconds <= intervalSeconds) return configured;
  return `${configured}, in effect ${inWords(effectiveIntervalSeconds)}`;
}

function refreshInWords({ success, durationSeconds }: GroupStatus): Html {
  if (success === undefined) return html`not yet`;
  const took = durationSeconds === undefined ? '' : ` in ${inWords(durationSeconds)}`;
  return html`<span
    >${success ? html`<span class="good">ended well</span>` : html`<span class="bad">had failures</span>`}${took}</span
  >`;
}

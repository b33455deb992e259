import type { EntityStatus } from '../dependencies.ts';
import { html, type Html } from './html.ts';
import { DOT, inWords } from './words.ts';

const SHOWN_FAILING = 20;
const SHOWN_SLOWEST = 5;

/** What the last attempt failed for, the longest failing first. */
export function failingEntities(entities: readonly EntityStatus[]): Html | undefined {
  const failing = entities.filter(({ problem }) => problem !== undefined).toSorted((a, b) => b.failures - a.failures);
  if (failing.length === 0) return undefined;
  const rest = failing.length - SHOWN_FAILING;
  return html`<table class="stack">
      <caption>
        Failing
      </caption>
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">Reason</th>
          <th scope="col">Failed in a row</th>
          <th scope="col">Served</th>
        </tr>
      </thead>
      <tbody>
        ${failing.slice(0, SHOWN_FAILING).map(
          (entity) =>
            html`<tr>
              <th scope="row">${nameOf(entity)}</th>
              <td data-label="Reason" class="long">${entity.problem}</td>
              <td data-label="Failed in a row" class="number">${entity.failures}</td>
              <td data-label="Served">${SERVED[entity.state]}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${rest > 0 ? html`<p class="more">and ${rest} more, all of them in the JSON of this page.</p>` : undefined}`;
}

/** Whose last attempt took longest. */
export function slowestEntities(entities: readonly EntityStatus[]): Html | undefined {
  const slowest = entities
    .flatMap((entity) => (entity.seconds === undefined ? [] : [{ entity, seconds: entity.seconds }]))
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, SHOWN_SLOWEST);
  if (slowest.length === 0) return undefined;
  return html`<table class="stack">
    <caption>
      Slowest to read
    </caption>
    <thead>
      <tr>
        <th scope="col">What</th>
        <th scope="col">Last attempt took</th>
      </tr>
    </thead>
    <tbody>
      ${slowest.map(
        ({ entity, seconds }) =>
          html`<tr>
            <th scope="row">${nameOf(entity)}</th>
            <td data-label="Last attempt took">${inWords(seconds)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

const SERVED: Readonly<Record<EntityStatus['state'], string>> = {
  fresh: 'fresh values',
  stale: 'last good values',
  missing: 'nothing',
};

function nameOf({ group, application, applicationId, host, hostId }: EntityStatus): Html {
  const of = [
    host === undefined && hostId === undefined ? undefined : html`host <bdi>${host ?? hostId}</bdi>`,
    application === undefined && applicationId === undefined
      ? undefined
      : html`<bdi>${application ?? ''}</bdi> <small>${applicationId}</small>`,
  ].filter((part) => part !== undefined);
  return html`<span class="group">${group}</span>${of.map((part) => html`${DOT}${part}`)}`;
}

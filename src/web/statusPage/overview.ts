import type { AccountStatus } from '../dependencies.ts';
import { html, type Html } from './html.ts';
import { counted } from './words.ts';

/** `2 accounts, 14 applications`, and what is wrong at a glance. */
export function overview(accounts: readonly AccountStatus[]): Html {
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
  const verdict =
    wrong.length === 0
      ? html`<span class="good">Nothing fails.</span>`
      : html`<span class="bad">${wrong.join(' ')}</span>`;
  return html`<p class="overview">
    ${counted(accounts.length, 'account')}, ${counted(applications, 'application')}. ${verdict}
  </p>`;
}

import type { EntityMatch } from '../config/config.ts';
import { matchTemplate } from '../metrics/template.ts';
import type { AccountCollector } from './account.ts';
import { unmatched } from './selection.ts';

/** Things about an account that somebody should look at, each a sentence that says what to change. */
export function warningsOf(account: AccountCollector): string[] {
  return [...unmatchedIncludes(account), ...unmatchedTemplates(account), ...tightBudget(account)];
}

/** Of the lists that have been read. */
function unmatchedIncludes({ config, inventory, keyTransactions }: AccountCollector): string[] {
  const { applicationList, keyTransactionList } = inventory;
  const applications = applicationList === undefined ? [] : unmatched(config.applications, applicationList);
  const filter = config.key_transactions;
  const ofKeyTransactions =
    typeof filter === 'boolean' || keyTransactions.held === undefined ? [] : unmatched(filter, keyTransactionList);
  return [
    ...applications.map((match) => `applications.include: no application has ${unmatchedWords(match)}`),
    ...ofKeyTransactions.map((match) => `key_transactions.include: no key transaction has ${unmatchedWords(match)}`),
  ];
}

function unmatchedWords(match: EntityMatch): string {
  const what = 'id' in match ? `id ${match.id}` : `name "${match.name}"`;
  return `the ${what}: correct the entry or remove it`;
}

function unmatchedTemplates({ context, records }: AccountCollector): string[] {
  const read = records.flatMap(({ units }) => units?.customNames?.held?.value ?? []);
  const pending = records.some(({ units }) => units?.customNames?.held === undefined && units !== undefined);
  if (pending) return [];
  return context.customMetrics
    .filter(({ template }) => !read.some((name) => matchTemplate(template, name) !== undefined))
    .map(
      ({ definition }) =>
        `custom_metrics: "${definition.match}" (${definition.name}) matches no metric of any application`,
    );
}

function tightBudget(account: AccountCollector): string[] {
  const { callsPerMinute, budget, stretch } = account.plan();
  if (stretch <= 1) return [];
  return [
    `limits.requests_per_minute: a refresh of everything needs ${Math.ceil(callsPerMinute)} calls per minute and the ` +
      `budget is ${budget}, so every group is refreshed ${stretch.toFixed(1)} times slower: raise it, lengthen ` +
      'collection.intervals, or narrow applications.include',
  ];
}

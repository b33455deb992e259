import type { EntityMatch } from '../../config/config.ts';
import { matchTemplate } from '../../metrics/template.ts';
import { unmatched } from '../inventory/selection.ts';
import type { AnsweredAccount } from './answer.ts';

/** Things about an account that somebody should look at, each a sentence that says what to change. */
export function warningsOf(account: AnsweredAccount): string[] {
  return [...unmatchedIncludes(account), ...unmatchedTemplates(account), ...tightLimits(account)];
}

/** Of the lists that have been read. */
function unmatchedIncludes({ context: { account }, inventory }: AnsweredAccount): string[] {
  const { listedApplications, listedKeyTransactions } = inventory;
  const applications = listedApplications === undefined ? [] : unmatched(account.applications, listedApplications);
  const filter = account.key_transactions;
  const ofKeyTransactions =
    typeof filter === 'boolean' || listedKeyTransactions === undefined ? [] : unmatched(filter, listedKeyTransactions);
  return [
    ...applications.map((match) => `applications.include: no application has ${unmatchedWords(match)}`),
    ...ofKeyTransactions.map((match) => `key_transactions.include: no key transaction has ${unmatchedWords(match)}`),
  ];
}

function unmatchedWords(match: EntityMatch): string {
  const what = 'id' in match ? `id ${match.id}` : `name "${match.name}"`;
  return `the ${what}: correct the entry or remove it`;
}

function unmatchedTemplates({ context, inventory }: AnsweredAccount): string[] {
  const data = [...inventory.applications.values()].flatMap((record) => record.data ?? []);
  if (data.some(({ customNames }) => customNames === undefined)) return [];
  const read = data.flatMap(({ customNames }) => customNames ?? []);
  return context.customMetrics
    .filter(({ template }) => !read.some((name) => matchTemplate(template, name) !== undefined))
    .map(
      ({ definition }) =>
        `custom_metrics: "${definition.match}" (${definition.name}) matches no metric of any application`,
    );
}

function tightLimits({ timetable, context }: AnsweredAccount): string[] {
  const { callsPerMinute, budget, carriedByPlaces, stretch } = timetable.plan();
  if (stretch <= 1) return [];
  const needed = `a refresh of everything needs ${Math.ceil(callsPerMinute)} calls per minute`;
  const slower = `so every group is refreshed ${stretch.toFixed(1)} times slower`;
  const remedy = 'lengthen collection.intervals, or narrow applications.include';
  if (stretch <= callsPerMinute / budget || carriedByPlaces === undefined) {
    return [`limits.requests_per_minute: ${needed} and the budget is ${budget}, ${slower}: raise it, ${remedy}`];
  }
  const { max_concurrent_requests: places } = context.account.limits;
  const seconds = ((60 * places) / carriedByPlaces).toFixed(1);
  return [
    `limits.max_concurrent_requests: ${needed}, and ${places} at once carry ${Math.floor(carriedByPlaces)} while one ` +
      `takes ${seconds} s, ${slower}: raise it, ${remedy}`,
  ];
}

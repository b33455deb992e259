import process from 'node:process';
import type { Config } from '../../config/config.ts';
import { accountThrough } from '../../config/interfaces.ts';
import { UsageError, ExitStatus } from '../process.ts';
import { formatMinute, table } from '../terminal.ts';
import { type Comparison, type Difference, compareSides } from './differences.ts';
import type { Application } from '../../api/types.ts';
import { selects } from '../../collect/selection.ts';
import { windowAt } from '../../collect/due.ts';
import type { CommonOptions } from '../flags.ts';
import { isId } from '../upstream/reading.ts';
import { withAccounts, type LiveAccount, type LiveSession } from '../upstream/session.ts';
import { readSide } from './sides.ts';

/** Which account is compared, from the flags. */
export interface PairOptions {
  /** Undefined: the only one of the configuration. */
  readonly account: string | undefined;
  /** The number of the account at the service; undefined: as configured. */
  readonly accountId: number | undefined;
}

/**
 * The configuration with one account twice: over REST, then over NerdGraph. Values are not rounded, so that what differs
 * does differ. Throws a UsageError when it is not clear which account is meant.
 */
export function pairOf(config: Config, { account: name, accountId }: PairOptions): Config {
  const named = name === undefined ? config.accounts : config.accounts.filter((account) => account.name === name);
  const [account, ...others] = named;
  const names = config.accounts.map((each) => each.name).join(', ');
  if (account === undefined) throw new UsageError(`there is no account "${name ?? ''}": the accounts are ${names}`);
  if (others.length > 0) throw new UsageError(`there are several accounts (${names}): say which with --account`);
  const same = { ...account, account_id: accountId ?? account.account_id };
  return {
    accounts: [accountThrough('rest', same), accountThrough('nerdgraph', same)],
    collection: { ...config.collection, raw_values: true },
  };
}

/** More differences than this are counted, not shown: nobody reads them, and JSON has them all. */
const MOST_SHOWN = 100;

/** The result for a person: a table of families, the differences, and what they mean. Ends in a line feed. */
export function comparisonText(comparison: Comparison): string {
  const { account, window, tolerance, families, differences, unexpected } = comparison;
  const percent = `${tolerance * 100} %`;
  const expected = differences.length - unexpected;
  const sections = [
    `Account ${account}, window from ${formatMinute(window.from)} to ${formatMinute(window.to)}, tolerance ${percent}`,
    table([
      ['FAMILY', 'COMPARED', 'DIFFER', 'WORST', 'ONLY REST', 'ONLY NERDGRAPH'],
      ...families.map((family) => [
        family.family,
        family.compared,
        family.differing,
        family.compared === 0 ? '-' : percentText(family.max_difference),
        family.only_rest,
        family.only_nerdgraph,
      ]),
    ]),
    ...differenceSection(
      `Differences that nothing explains: ${unexpected}`,
      differences.filter((difference) => !difference.expected),
    ),
    ...differenceSection(
      `Differences that are expected: ${expected}`,
      differences.filter((difference) => difference.expected),
    ),
    verdict(comparison),
  ];
  return `${sections.join('\n\n')}\n`;
}

export function comparisonJson(comparison: Comparison): string {
  return `${JSON.stringify(comparison, undefined, 2)}\n`;
}

function differenceSection(title: string, differences: readonly Difference[]): string[] {
  if (differences.length === 0) return [];
  const rows = differences
    .slice(0, MOST_SHOWN)
    .map(({ family, labels, rest, nerdgraph, difference, reason }) => [
      difference === null ? '-' : percentText(difference),
      numberText(rest),
      numberText(nerdgraph),
      family + labelText(labels),
      ...(reason === null ? [] : [reason]),
    ]);
  const why = differences[0]?.expected === true ? ['WHY'] : [];
  const text = table([['DIFFERENCE', 'REST', 'NERDGRAPH', 'SERIES', ...why], ...rows]);
  const more = differences.length - MOST_SHOWN;
  return [`${title}\n${text}${more > 0 ? `\nand ${more} more: --format=json has them all` : ''}`];
}

function verdict({ families, unexpected }: Comparison): string {
  const compared = families.reduce((sum, family) => sum + family.compared, 0);
  return unexpected === 0
    ? `Both interfaces agree: ${compared} series compared, nothing differs that is not expected.`
    : `The interfaces do not agree: ${unexpected} of the differences are not expected. docs/migrating.md says what to look at.`;
}

function labelText(labels: Difference['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `{${pairs.join(',')}}`;
}

function percentText(difference: number): string {
  return `${(difference * 100).toPrecision(3)} %`;
}

function numberText(value: number | null): string {
  return value === null ? 'absent' : String(Number(value.toPrecision(6)));
}

export interface CompareOptions extends CommonOptions, PairOptions {
  /** Ids or exact names; empty: the applications that the account serves. */
  readonly apps: readonly string[];
  readonly hosts: boolean;
  /** The relative difference up to which two values count as the same. */
  readonly tolerance: number;
  readonly format: 'table' | 'json';
}

/** The command `compare`: status 0 when nothing differs that is not expected, else 1. */
export async function runCompare(options: CompareOptions): Promise<void> {
  const comparison = await withAccounts(
    options,
    (session) => compare(session, options, Date.now(), (sentence) => process.stderr.write(`${sentence}\n`)),
    (config) => pairOf(config, options),
  );
  process.stdout.write(options.format === 'json' ? comparisonJson(comparison) : comparisonText(comparison));
  if (comparison.unexpected > 0) throw new ExitStatus(1);
}

/**
 * Reads the chosen applications through both interfaces over one window, and compares. Rejects with an Error of one
 * sentence when a side cannot be read or both have no application in common.
 *
 * @param now Unix milliseconds
 * @param note told what is left out of the comparison
 */
export async function compare(
  { accounts, config }: LiveSession,
  options: Pick<CompareOptions, 'apps' | 'hosts' | 'tolerance'>,
  now: number,
  note: (sentence: string) => void,
): Promise<Comparison> {
  const [rest, nerdgraph] = accounts;
  if (rest === undefined || nerdgraph === undefined) throw new Error('both interfaces of an account are needed');
  const window = windowAt(now, config.collection);
  const [overRest, overNerdGraph] = await Promise.all([
    readChosen(rest, options.apps, 'REST'),
    readChosen(nerdgraph, options.apps, 'NerdGraph'),
  ]);
  refuseUnmatched(options.apps, [...overRest, ...overNerdGraph]);
  const onRest = partition(overRest, overNerdGraph);
  const onNerdGraph = partition(overNerdGraph, overRest);
  sayLeftOut(onRest.alone, 'REST', note);
  sayLeftOut(onNerdGraph.alone, 'NerdGraph', note);
  if (onRest.common.length === 0) {
    throw new Error(
      `the interfaces have no reporting application in common (REST ${overRest.length}, NerdGraph ${overNerdGraph.length}): ` +
        'the key may act on another account over REST (give --account-id), or its user may lack a role',
    );
  }
  const side = { window, hosts: options.hosts };
  const [restSide, nerdgraphSide] = await Promise.all([
    readSide(rest, onRest.common, side),
    readSide(nerdgraph, onNerdGraph.common, side),
  ]);
  return { account: rest.config.name, window, ...compareSides(restSide, nerdgraphSide, options.tolerance) };
}

function refuseUnmatched(apps: readonly string[], found: readonly Application[]): void {
  const unmatched = apps.filter((app) => !found.some((application) => isMeant(application, app)));
  if (unmatched.length === 0) return;
  const what = unmatched.map((app) => `"${app}"`).join(', ');
  throw new UsageError(`--app matches no reporting application: ${what}; the command discover lists them`);
}

/** The applications of a list that the other list has too, by id, and those that it has alone. */
function partition(
  list: readonly Application[],
  other: readonly Application[],
): { readonly common: readonly Application[]; readonly alone: readonly Application[] } {
  const ids = new Set(other.map(({ id }) => id));
  return { common: list.filter(({ id }) => ids.has(id)), alone: list.filter(({ id }) => !ids.has(id)) };
}

/** The reporting applications that are meant, as one interface lists them. */
async function readChosen(
  { config, reader, call }: LiveAccount,
  apps: readonly string[],
  name: string,
): Promise<Application[]> {
  const read = (query: { readonly ids?: readonly number[] }): Promise<Application[]> =>
    reader.listApplications(query, call).catch((error: unknown) => {
      throw new Error(`the applications cannot be read over ${name}`, { cause: error });
    });
  const ids = apps.filter((app) => isId(app)).map(Number);
  // Ids are read by id. What is no id of the account may be a name, which only the whole list shows.
  const byId = ids.length > 0 && ids.length === apps.length ? await read({ ids }) : [];
  const list = byId.length > 0 && byId.length === new Set(ids).size ? byId : await read({});
  const chosen =
    apps.length === 0
      ? list.filter((application) => selects(config.applications, application))
      : list.filter((application) => apps.some((app) => isMeant(application, app)));
  return chosen.filter(({ reporting }) => reporting !== false);
}

function isMeant({ id, name }: Application, app: string): boolean {
  return app === name || app === String(id);
}

function sayLeftOut(applications: readonly Application[], only: string, note: (sentence: string) => void): void {
  if (applications.length === 0) return;
  const names = applications.map(({ id, name }) => `${name} (${id})`).join(', ');
  note(`Only ${only} has these reporting applications, which are not compared: ${names}`);
}

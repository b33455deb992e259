import process from 'node:process';
import type { Application } from '../../api/types.ts';
import { selects } from '../../collect/inventory/selection.ts';
import { windowAt } from '../../collect/schedule/window.ts';
import type { CommonOptions } from '../flags/commonFlags.ts';
import { ExitStatus } from '../process/exitStatus.ts';
import { UsageError } from '../process/usageError.ts';
import { isId } from '../upstream/applications.ts';
import { withAccounts, type LiveAccount, type LiveSession } from '../upstream/session.ts';
import { compareSides, type Comparison } from './differences.ts';
import { pairOf, type PairOptions } from './pair.ts';
import { comparisonJson, comparisonText } from './report.ts';
import { readSide } from './side.ts';

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

import process from 'node:process';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountThrough, type Config } from '../../config/config.ts';
import { counted } from '../../text/wording.ts';
import { checkOutput, noteWritten } from '../outputFiles.ts';
import { sumOf } from '../grouping.ts';
import { FACTS } from './facts.ts';
import { ExitStatus, withColours } from '../../cli/process.ts';
import { jsonText, lineLength, showProgress, wrapped } from '../terminal.ts';
import {
  requireSingleAccount,
  withAccounts,
  type CommandContext,
  type LiveSession,
  type ReadingOptions,
} from '../upstream/session.ts';
import { HOME, NAME, VERSION } from '../../cli/version.ts';
import { connect, type Timing } from './askedAccount.ts';
import { checkAccount, type AccountFacts } from './checkAccount.ts';
import { sentenceOf, shareable, type Judged } from './evidence.ts';

/** The flags of `check --live --facts`. */
export interface FactsOptions extends ReadingOptions {
  /** Time to wait for late data, in milliseconds; undefined for no wait. */
  readonly wait?: number | undefined;
  readonly output?: string | undefined;
  readonly format: 'table' | 'json';
  readonly force: boolean;
}

/** `check --live --facts`: status 1 when a fact differs or an account cannot be read, else 0. */
export async function runFacts(options: FactsOptions): Promise<void> {
  const { output, force } = options;
  const run = async (session: LiveSession & CommandContext): Promise<void> => {
    const { config, clientOptions } = session;
    const connections = session.accounts.map((each) => connect(each, clientOptions(each.config, config)));
    const progress = showProgress('asking the account');
    const timing: Timing = {
      now: Date.now,
      sleep: (ms, signal) => sleep(ms, undefined, { signal }),
      waitMs: options.wait ?? 0,
      delayMs: config.collection.delay,
    };
    let done = 0;
    const update = (): void => progress.update((done += 1), connections.length * FACTS.length);
    try {
      const found = await Promise.all(connections.map((each) => checkAccount(each, timing, update)));
      progress.stop();
      session.print(options.format === 'json' ? factsJson(found) : factsText(found));
      if (output !== undefined) {
        writeFileSync(output, shareText(found), { flag: force ? 'w' : 'wx' });
        const rows = sumOf(found, (account) => account.rows.length);
        noteWritten(output, `${counted(rows, 'row')} without names`, `attach it to an issue at ${HOME}/issues`);
      }
      if (found.some(({ problem, rows }) => problem !== undefined || rows.some(isDifferent))) throw new ExitStatus(1);
    } finally {
      progress.stop();
      await Promise.allSettled(connections.map((each) => each.close()));
    }
  };
  await withAccounts(options, run, (config) => {
    if (output !== undefined) checkOutput(output, force);
    // An organisation may have a hundred accounts: what is not certain is the same in all.
    if (config.accounts.some(({ origin }) => origin !== undefined)) requireSingleAccount(config);
    return throughNerdGraph(config);
  });
}

type Row = AccountFacts['rows'][number];

const isDifferent = ({ judged }: Row): boolean => judged.verdict === 'differs';

/** The configuration with each account over NerdGraph, which the facts are about. */
export function throughNerdGraph({ accounts, collection }: Config): Config {
  return { accounts: accounts.map((each) => accountThrough('nerdgraph', each)), collection };
}

/** The observations of a row; an undecided one begins with its reason. */
function seenText(judged: Judged): string {
  const seen = sentenceOf(judged.seen);
  if (!('why' in judged)) return seen;
  const needs = judged.needs === undefined ? '' : ` (needs ${judged.needs})`;
  return `${judged.why}${needs}${seen === '' ? '' : `: ${seen}`}`;
}

/** The rows that are not as assumed as text, what differs first, and the number of the others. Ends in a line feed. */
export function factsText(found: readonly AccountFacts[], maxWidth = lineLength()): string {
  const parts = found.map(({ account, rows, problem }) => {
    const withVerdict = (verdict: Judged['verdict']): Row[] => rows.filter(({ judged }) => judged.verdict === verdict);
    const [same, different] = [withVerdict('as assumed'), withVerdict('differs')];
    // All rows of an account that cannot be read have the same reason.
    const undecided = problem === undefined ? withVerdict('not decidable here') : [];
    const lines = [
      ...different.map(({ id, judged, relies, wrong }) => {
        const seen = seenText(judged) || 'otherwise';
        return `differs: ${id}: we rely on this: ${relies}. Seen: ${seen}. Wrong: ${wrong.join(', ') || 'nothing'}.`;
      }),
      ...undecided.map(({ id, judged }) => `not decidable here: ${id}: ${seenText(judged)}`),
    ];
    const heading =
      `Account ${account}: ${same.length} as assumed, ${different.length} differ, ` +
      `${rows.length - same.length - different.length} not decidable here`;
    return [
      heading,
      ...(problem === undefined ? [] : [`error: the account cannot be read: ${problem}`]),
      ...lines.map((line) => withColours(wrapped(line, maxWidth), process.stdout)),
    ].join('\n');
  });
  return `${parts.join('\n\n')}\n\nAll facts, and what we rely on: ${HOME}/blob/main/docs/facts.md\n`;
}

/** A row as both JSON forms have it, with only content that is safe to share. */
function rowOf({ id, judged }: Row) {
  const { why, needs } = 'why' in judged ? judged : {};
  const seen = judged.seen.map(shareable);
  return { id, verdict: judged.verdict, why, needs, seen: seen.length > 0 ? seen : undefined };
}

/** The rows as one JSON document, with the names of the accounts and the affected parts for each difference. */
function factsJson(found: readonly AccountFacts[]): string {
  const withParts = (row: Row) => ({
    ...rowOf(row),
    ...(isDifferent(row) && { relies: row.relies, wrong: row.wrong }),
  });
  return documentOf(found.map(({ account, rows, problem }) => ({ account, problem, rows: rows.map(withParts) })));
}

/** The file to share: the rows only, without the names of the accounts. */
export function shareText(found: readonly AccountFacts[]): string {
  return documentOf(found.map(({ rows }) => ({ rows: rows.map(rowOf) })));
}

function documentOf(accounts: readonly object[]): string {
  return jsonText({ program: NAME, version: VERSION, day: new Date().toISOString().slice(0, 10), accounts });
}

import process from 'node:process';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { switchInterface, type Config } from '../../config/config.ts';
import { counted } from '../../text/wording.ts';
import { checkOutput, noteWritten } from '../outputFiles.ts';
import { FACTS } from './facts.ts';
import { ExitStatus, colourLines } from '../../cli/process.ts';
import { renderJson, readLineLength, showProgress, wrapText } from '../terminal.ts';
import { requireSingleAccount, withAccounts } from '../upstream/session.ts';
import type { CommandContext, LiveSession, ReadingOptions } from '../upstream/session.ts';
import { HOME, NAME, VERSION } from '../../cli/version.ts';
import { connect } from './askedAccount.ts';
import { checkAccount, type AccountFacts, type CheckedRow } from './checkAccount.ts';

export interface FactsOptions extends ReadingOptions {
  /** Time to wait for late data, in milliseconds; undefined: no wait. */
  readonly wait?: number | undefined;
  readonly output?: string | undefined;
  readonly format: 'table' | 'json';
  readonly force: boolean;
}

/** Runs `check --live --facts`. Status 1 if a fact differs or an account cannot be read, else 0. */
export async function runFacts(options: FactsOptions): Promise<void> {
  const { output, force, format, wait: waitMs = 0 } = options;
  const run = async ({ config, accounts, clientOptions, print, mask }: LiveSession & CommandContext): Promise<void> => {
    const connections = accounts.map((each) => connect(each, clientOptions(each.config, config, each.limiter)));
    const wait = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal });
    const timing = { now: Date.now, sleep: wait, waitMs, delayMs: config.collection.delay };
    const progress = showProgress('checking facts');
    let done = 0;
    const update = (): void => progress.update((done += 1), connections.length * FACTS.length);
    try {
      const found = await Promise.all(connections.map((each) => checkAccount(each, timing, update)));
      progress.stop();
      print(format === 'json' ? renderFactsJson(found, true) : renderFactsText(found));
      if (output !== undefined) {
        writeFileSync(output, mask(renderFactsJson(found, false)), { flag: force ? 'w' : 'wx' });
        const rows = counted(connections.length * FACTS.length, 'row');
        noteWritten(output, `${rows} without names`, `attach it to an issue at ${HOME}/issues`);
      }
      if (found.some(({ problem, rows }) => problem !== undefined || rows.some(isDifferent))) throw new ExitStatus(1);
    } finally {
      progress.stop();
      await Promise.allSettled(connections.map((each) => each.close()));
    }
  };
  await withAccounts(options, run, (config) => {
    if (output !== undefined) checkOutput(output, force);
    // An organisation may have a hundred accounts, and facts are the same in all of them.
    if (config.accounts.some(({ origin }) => origin !== undefined)) requireSingleAccount(config);
    return throughNerdGraph(config);
  });
}

/** Switches each account to NerdGraph: the facts are about it. */
export function throughNerdGraph({ accounts, collection }: Config): Config {
  return { accounts: accounts.map((each) => switchInterface('nerdgraph', each)), collection };
}

const isDifferent = ({ judged }: CheckedRow): boolean => judged.verdict === 'differs';

function describeRow({ id, relies, wrong, judged }: CheckedRow): string {
  const { verdict, why, needs } = judged;
  const seen = judged.seen.map((each) => Object.values(each).join(' ')).join(', ');
  const reason = needs === undefined ? why : `${why} (needs ${needs})`;
  return verdict === 'differs'
    ? `${verdict}: ${id}: the exporter relies on this: ${relies}. Seen: ${seen || 'otherwise'}. Wrong: ${wrong.join(', ')}.`
    : `${verdict}: ${id}: ${reason}${seen && `: ${seen}`}`;
}

/** Renders the rows that are not as assumed, differences first, and the number of other rows. Ends in a line feed. */
export function renderFactsText(found: readonly AccountFacts[], maxWidth = readLineLength()): string {
  const parts = found.map(({ account, rows, problem }) => {
    const different = rows.filter(isDifferent);
    const undecided = rows.filter(({ judged }) => judged.verdict === 'not decidable here');
    const same = rows.length - different.length - undecided.length;
    // If the account cannot be read, all its rows have the same reason.
    const shown = problem === undefined ? [...different, ...undecided] : [];
    return [
      `Account ${account}: ${same} as assumed, ${different.length} differ, ${undecided.length} not decidable here`,
      ...(problem === undefined ? [] : [`error: the account cannot be read: ${problem}`]),
      ...shown.map((row) => colourLines(wrapText(describeRow(row), maxWidth), process.stdout)),
    ].join('\n');
  });
  return `${parts.join('\n\n')}\n\nAll facts: ${HOME}/blob/main/docs/facts.md\n`;
}

/** Renders JSON that is safe to share. `withNames` adds accounts, and the families that differences affect. */
export function renderFactsJson(found: readonly AccountFacts[], withNames: boolean): string {
  const toRow = ({ id, relies, wrong, judged: { seen, ...judged } }: CheckedRow) => ({
    ...{ id, ...judged, ...(seen.length > 0 && { seen }) },
    ...(withNames && judged.verdict === 'differs' && { relies, wrong }),
  });
  const accounts = found.map(({ account, problem, rows }) => ({
    ...(withNames && { account, problem }),
    rows: rows.map(toRow),
  }));
  return renderJson({ program: NAME, version: VERSION, day: new Date().toISOString().slice(0, 10), accounts });
}

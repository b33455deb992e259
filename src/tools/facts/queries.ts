import { readResponse } from '../../api/nerdgraph/nrql.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import type { AskedAccount } from './askedAccount.ts';
import type { Judged } from './evidence.ts';
import { judgeLimit, type Answer } from './judges.ts';

/** An undocumented behaviour of New Relic that the exporter relies on, and how to check it on an account. */
export interface Fact {
  readonly id: string;
  /** The query. For several queries, a description. */
  readonly asked: string;
  readonly check: (account: AskedAccount) => Promise<Judged>;
  /** What the exporter relies on, and the source. */
  readonly relies: string;
  /** The families (`*`: any part of a name) or settings that are wrong if the fact differs. */
  readonly wrong: readonly string[];
  readonly fields?: readonly string[];
  /** Length of the range, in seconds. */
  readonly over?: number;
  /** Time from the end of the range to the newest complete minute, in seconds. */
  readonly delay?: number;
}

export type Row = Omit<Fact, 'id'>;
export type About = Omit<Row, 'asked' | 'check'>;

/** Fills applications and range into a query. The range ends `delay` seconds before `to`. */
export function writeStatement(nrql: string, { largest, to }: AskedAccount, over = 600, delay = 0) {
  const range = { from: to - delay - over, to: to - delay };
  const text = nrql
    .replaceAll('{app}', String(largest[0]?.id))
    .replaceAll('{apps}', largest.map(({ id }) => id).join(', '))
    .replaceAll('{time}', `SINCE ${range.from * 1000} UNTIL ${range.to * 1000}`);
  return { text, range };
}

/** Runs a query; `over` and `delay` are in seconds. Rejects with an UpstreamError. */
export async function ask(account: AskedAccount, nrql: string, over?: number, delay?: number): Promise<Answer> {
  const { text, range } = writeStatement(nrql, account, over, delay);
  const result = await account.result(text);
  return { result, rows: result.results, window: readResponse(result).window, range, largest: account.largest };
}

export const probe = (asked: string, check: Fact['check'], row: About): Row => ({ asked, check, ...row });

export const query = (nrql: string, judged: (answer: Answer) => Judged, row: About): Row =>
  probe(nrql, async (account) => judged(await ask(account, nrql, row.over, row.delay)), row);

export const attempt = (nrql: string, judged: (end: NrqlEnd) => Judged, row: About): Row =>
  probe(nrql, async (account) => judged(await account.tryQuery(writeStatement(nrql, account).text)), row);

/** A fact about the facets that a LIMIT keeps. The query `all` lists all facets. */
export const compareLimits = (assumed: 'by records' | 'by sum', few: string, all: string, row: About): Row =>
  probe(few, async (account) => judgeLimit(assumed, await ask(account, few), await ask(account, all)), row);

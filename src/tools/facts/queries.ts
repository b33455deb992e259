import { readResponse } from '../../api/nerdgraph/nrql.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import type { AskedAccount } from './askedAccount.ts';
import type { Judged } from './evidence.ts';
import { judgeLimit, type Answer } from './judges.ts';

/** A statement about New Relic that the exporter relies on and no document settles, and how an account is asked. */
export interface Fact {
  readonly id: string;
  /** The query, or how the account is asked where it takes more than one. */
  readonly asked: string;
  /** Rejects with an UpstreamError. */
  readonly check: (account: AskedAccount) => Promise<Judged>;
  /** What we rely on, and where that comes from. */
  readonly relies: string;
  /** What of the exporter is wrong when the fact differs: families (`*`: any part of a name), or settings. */
  readonly wrong: readonly string[];
  /** The fields that a pack reads. */
  readonly fields?: readonly string[];
  /** The length of the range in seconds, and by how much it ends before the newest complete minute. */
  readonly over?: number;
  readonly delay?: number;
}

export type Row = Omit<Fact, 'id'>;
export type About = Omit<Row, 'asked' | 'check'>;

/** The statement of a query, about the account's applications, over a range that ends `delay` seconds before `to`. */
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

/** A fact that the result of one query decides. */
export const query = (nrql: string, judged: (answer: Answer) => Judged, row: About): Row =>
  probe(nrql, async (account) => judged(await ask(account, nrql, row.over, row.delay)), row);

/** A fact that is about whether New Relic accepts a query. */
export const attempt = (nrql: string, judged: (end: NrqlEnd) => Judged, row: About): Row =>
  probe(nrql, async (account) => judged(await account.tryQuery(writeStatement(nrql, account).text)), row);

/** Which facets the LIMIT of a query keeps, of all that another query lists. */
export const compareLimits = (assumed: 'by records' | 'by sum', few: string, all: string, row: About): Row =>
  probe(few, async (account) => judgeLimit(assumed, await ask(account, few), await ask(account, all)), row);

import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/api/upstreamReader.ts';
import type { RollingValues } from '../../../src/api/types.ts';
import { UpstreamError } from '../../../src/api/upstreamError.ts';
import { RANGE } from './nerdGraphReading.ts';
import type { Reading } from '../support/reading.ts';
import { edit, startBetween, type Between, type Fault } from './proxy.ts';
import { readAll } from '../support/reading.ts';

type NrqlRow = Record<string, unknown>;

const WORLD = { applications: 4, hostsPerApplication: 1, keyTransactions: 8 };

/** True for the query of the metrics of key transactions. */
const isOfKeyTransactions = (nrql: string): boolean => nrql.includes('apm.key.transaction.duration');

/** Changes the rows of key transactions. */
const editRows = (change: (rows: NrqlRow[]) => void): Fault =>
  edit(({ results }) => {
    change(results);
  }, isOfKeyTransactions);

/** A reader that has listed its key transactions, with a read of them and the guid of the third. */
async function listed(): Promise<{
  readonly between: Between;
  readonly read: (reading?: Reading) => Promise<readonly Outcome<RollingValues>[]>;
  readonly third: string;
}> {
  const between = await startBetween(WORLD);
  const { reader, call } = between;
  const ids = (await reader.listKeyTransactions({}, call)).map(({ id }) => id);
  expect(ids).toHaveLength(8);
  const read = (some: readonly number[], target: Reading): Promise<readonly Outcome<RollingValues>[]> => {
    const subjects = some.map((keyTransactionId) => ({ keyTransactionId }));
    return readAll(target.reader.rolling!, subjects, RANGE, target.call);
  };
  await read(ids.slice(2, 3), between);
  const [, third = ''] =
    /entity\.guid (?:=|IN) \(?'([^']+)'/.exec(between.asked.map(({ nrql }) => nrql).join('\n')) ?? [];
  between.asked.length = 0;
  return { between, read: (reading = between) => read(ids, reading), third };
}

/** The row of the third key transaction. */
function rowOf(rows: readonly NrqlRow[], guid: string): NrqlRow {
  const found = rows.find(({ facet }) => [facet].flat()[0] === guid);
  if (found === undefined) throw new Error(`no row of ${guid}`);
  return found;
}

/** The reported omissions. The third key transaction belongs to an invisible application, which is a failure. */
function leftOut({ notes }: Between): readonly string[] {
  return notes.failures.map(({ message }) => message).filter((message) => message.includes('left out'));
}

describe('the rows of key transactions', () => {
  it.each<[string, (row: NrqlRow, rows: NrqlRow[]) => void]>([
    ['no readable count', (row) => (row['c'] = 'many')],
    ['a count below 0', (row) => (row['c'] = -1)],
    ['no readable sum', (row) => (row['t'] = null)],
    ['a sum below 0', (row) => (row['t'] = -0.5)],
    ['two rows', (row, rows) => rows.push({ ...row })],
    ['three rows', (row, rows) => rows.push({ ...row }, { ...row })],
  ])('fail only for the key transaction with %s, in one query', async (_, change) => {
    const { between, read, third } = await listed();
    const whole = await read();
    between.asked.length = 0;
    between.fault = editRows((rows) => {
      change(rowOf(rows, third), rows);
    });
    const outcomes = await read();
    expect(outcomes.map((outcome) => 'error' in outcome)).toEqual(whole.map((__, index) => index === 2));
    expect(outcomes.filter((__, index) => index !== 2)).toEqual(whole.filter((__, index) => index !== 2));
    expect(between.asked.filter(({ nrql }) => isOfKeyTransactions(nrql))).toHaveLength(1);
    expect(between.notes.failures.at(-1)?.message).toMatch(/a count or a sum cannot be read \(key transaction "/);
  });

  it('fail when no key transaction was listed at the start of the read, although a list arrives later', async () => {
    const known = await startBetween(WORLD);
    const [first] = await known.reader.listKeyTransactions({}, known.call);
    const { reader, call } = await startBetween(WORLD);
    const read = reader.rolling!.read([{ keyTransactionId: first!.id }], RANGE, call);
    await reader.listKeyTransactions({}, call);
    expect(await read).toEqual([{ error: expect.any(UpstreamError) as UpstreamError }]);
  });

  it('keep their rates without an unreadable number of errors, which is counted', async () => {
    const { between, read, third } = await listed();
    const summaries = (outcomes: readonly Outcome<RollingValues>[]) =>
      outcomes.map((outcome) => ('value' in outcome ? outcome.value.summary : undefined));
    const whole = summaries(await read());
    between.fault = editRows((rows) => (rowOf(rows, third)['x'] = 'some'));
    expect(summaries(await read())).toEqual(
      whole.map((summary, index) => (index === 2 ? { ...summary, errorRate: undefined } : summary)),
    );
    expect(whole[2]?.errorRate).toBeDefined();
    expect(leftOut(between)).toEqual([expect.stringMatching(/left out 1 bad value/)]);
  });

  it('do without a row of something that was not requested, and count it', async () => {
    const { between, read, third } = await listed();
    const whole = await read();
    between.fault = editRows((rows) => rows.push({ ...rowOf(rows, third), facet: 'MXxBUE18T1RIRVJ8MQ' }));
    expect(await read()).toEqual(whole);
    expect(leftOut(between)).toEqual([expect.stringMatching(/left out 1 bad record/)]);
  });

  it('take the Apdex and the silence of the application that owns them', async () => {
    const { between, read } = await listed();
    const rated = (await read()).flatMap((outcome, index) =>
      'value' in outcome && (outcome.value.summary?.apdexScore ?? 0) > 0 ? [index] : [],
    );
    expect(rated.length).toBeGreaterThan(3);
    const summaries = async () => {
      const outcomes = await read();
      return rated
        .map((index) => outcomes[index])
        .map((each) => each !== undefined && 'value' in each && each.value.summary);
    };
    between.fault = editRows((rows) => rows.splice(0));
    for (const summary of await summaries()) expect(summary).toMatchObject({ requestRate: 0, apdexScore: undefined });
    // A key transaction of a silent application has no values.
    between.fault = edit((response) => (response.results = []));
    for (const summary of await summaries()) expect(summary).toMatchObject({ requestRate: undefined });
  });

  it('are missing for a key transaction that is not listed, and present for the others', async () => {
    const { between, read } = await listed();
    const [whole] = await read();
    const [{ id } = { id: 0 }] = await between.reader.listKeyTransactions({}, between.call);
    const subjects = [id, 1].map((keyTransactionId) => ({ keyTransactionId }));
    const [first, unknown] = await readAll(between.reader.rolling!, subjects, RANGE, between.call);
    expect(first).toEqual(whole);
    expect(unknown).toHaveProperty('error.failure.reason', 'not_found');
  });
});

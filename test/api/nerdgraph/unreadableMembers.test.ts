import { describe, expect, it } from 'vitest';
import type { Reading } from '../support/reading.ts';
import { startBetween, type Fault } from './proxy.ts';

type Member = Record<string, unknown>;

/** Changes the members of a list. */
const editList =
  (change: (members: unknown[]) => void): Fault =>
  (response, { text }, good) => {
    if (!text.includes('entitySearch')) return false;
    const body = JSON.parse(good) as { data: { actor: { entitySearch: { results: { entities: unknown[] } } } } };
    change(body.data.actor.entitySearch.results.entities);
    response.end(JSON.stringify({ data: body.data }));
    return true;
  };

const KINDS: [string, (reading: Reading) => Promise<string[]>][] = [
  ['applications', async ({ reader, call }) => (await reader.listApplications({}, call)).map(({ name }) => name)],
  [
    'key transactions',
    async ({ reader, call }) => (await reader.listKeyTransactions({}, call)).map(({ name }) => name),
  ],
  ['entities', async ({ reader, call }) => (await reader.entities!.list('EXT-SERVICE', call)).map(({ name }) => name)],
];

const MEMBERS: [string, (members: unknown[]) => void][] = [
  ['null', (members) => (members[1] = null)],
  ['a text', (members) => (members[1] = 'broken')],
  ['without a guid', (members) => delete (members[1] as Member)['guid']],
  ['with a bad guid', (members) => ((members[1] as Member)['guid'] = 7)],
  ['without a name', (members) => delete (members[1] as Member)['name']],
];

describe.each(KINDS)('in a list of %s', (_, list) => {
  it.each(MEMBERS)(
    'a member that is %s is left out of the first list, and stays in a later one',
    async (_what, change) => {
      const between = await startBetween({ applications: 4, keyTransactions: 4 });
      between.fault = editList(change);
      const readable = await list(between);
      expect(
        between.notes.failures.map(({ reason, message }) => [reason, /left out 1 bad record/.test(message)]),
      ).toEqual([['invalid_response', true]]);
      between.fault = undefined;
      const all = await list(between);
      expect(all.toSorted()).not.toEqual(readable.toSorted());
      expect(all).toHaveLength(readable.length + 1);
      between.fault = editList(change);
      expect((await list(between)).toSorted()).toEqual(all.toSorted());
      expect((await list(between)).toSorted()).toEqual(all.toSorted());
      expect(between.notes.failures).toHaveLength(3);
    },
  );
});

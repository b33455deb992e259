import { describe, expect, it } from 'vitest';
import type { Host, Instance } from '../../src/api/types.ts';
import { startBetween, type Fault } from './nerdgraph/proxy.ts';
import { endOf } from './support/endOf.ts';
import { readOne, serve, type Reading } from './support/reading.ts';
import { json } from './support/testServer.ts';

type Member = Record<string, unknown>;
type Change = (members: unknown[]) => void;

/** An account whose lists a test can change on their way. */
type Lists = Reading & {
  change: Change | undefined;
};

/** A list of an interface. `list` returns the names of its members, with an asterisk where rolling values exist. */
interface Kind {
  readonly start: () => Promise<Lists>;
  readonly list: (reading: Reading) => Promise<string[]>;
}

interface Search {
  count: number;
  readonly results: { readonly entities: unknown[] };
}

async function startNerdGraph(): Promise<Lists> {
  const between = await startBetween({ applications: 4, keyTransactions: 4 });
  const { reader, notes, health, call } = between;
  const lists: Lists = { reader, notes, health, call, change: undefined };
  const fault: Fault = (response, { text }, good) => {
    if (!text.includes('entitySearch')) return false;
    const body = JSON.parse(good) as { data: { actor: { entitySearch: Search } } };
    const search = body.data.actor.entitySearch;
    lists.change?.(search.results.entities);
    search.count = search.results.entities.length;
    response.end(JSON.stringify({ data: body.data }));
    return true;
  };
  between.fault = fault;
  return lists;
}

const summary = { application_summary: { response_time: 20, throughput: 60 } };
const MEMBERS: Readonly<Record<string, (id: number) => Member>> = {
  applications: (id) => ({ id, name: `app ${id}`, ...summary }),
  key_transactions: (id) => ({ id, name: `transaction ${id}`, ...summary }),
  application_hosts: (id) => ({ id, host: `host ${id}`, ...summary }),
  application_instances: (id) => ({ id, host: `host ${id}`, port: 80, ...summary }),
};

/** A REST account with four records in a list; `perPage` divides it, and `filter[ids]` selects from it. */
const startRest = (member: string, perPage: number) => async (): Promise<Lists> => {
  const reading = await serve((response, { url }) => {
    const ids = url.searchParams.get('filter[ids]')?.split(',').map(Number) ?? [1, 2, 3, 4];
    const page = Number(url.searchParams.get('page') ?? '1');
    const all: unknown[] = ids.map((id) => MEMBERS[member]!(id));
    lists.change?.(all);
    const link = { link: `<${url.pathname}?page=${page + 1}>; rel="next"` };
    json(
      response,
      { [member]: all.slice(perPage * (page - 1), perPage * page) },
      perPage * page < all.length ? link : {},
    );
  });
  const lists: Lists = { ...reading, change: undefined };
  return lists;
};

const marked = ({
  name,
  summary: rolling,
}: {
  name: string;
  summary?: { requestRate?: number | undefined } | undefined;
}) => (rolling?.requestRate === undefined ? name : `${name} *`);
const hostNames = (list: readonly (Host | Instance)[]): string[] =>
  list.map(({ host, summary: rolling }) => marked({ name: host, summary: rolling }));

const applications: Kind['list'] = async ({ reader, call }) => (await reader.listApplications({}, call)).map(marked);
const keyTransactions: Kind['list'] = async ({ reader, call }) =>
  (await reader.listKeyTransactions({}, call)).map(marked);
const ids = [1, 2, 3, 4];

const KINDS: [string, Kind][] = [
  ['applications, NerdGraph', { start: startNerdGraph, list: applications }],
  ['key transactions, NerdGraph', { start: startNerdGraph, list: keyTransactions }],
  [
    'entities, NerdGraph',
    {
      start: startNerdGraph,
      list: async ({ reader, call }) => (await reader.entities!.list('EXT-SERVICE', call)).map(({ name }) => name),
    },
  ],
  ['applications, REST', { start: startRest('applications', 4), list: applications }],
  ['applications on pages of one, REST', { start: startRest('applications', 1), list: applications }],
  [
    'applications by their ids, REST',
    {
      start: startRest('applications', 4),
      list: async ({ reader, call }) => (await reader.listApplications({ ids }, call)).map(marked),
    },
  ],
  ['key transactions, REST', { start: startRest('key_transactions', 4), list: keyTransactions }],
  [
    'key transactions by their ids, REST',
    {
      start: startRest('key_transactions', 4),
      list: async ({ reader, call }) => (await reader.listKeyTransactions({ ids }, call)).map(marked),
    },
  ],
  [
    'hosts, REST',
    {
      start: startRest('application_hosts', 4),
      list: async ({ reader, call }) => hostNames(await readOne(reader.hosts, { applicationId: 7 }, call)),
    },
  ],
  [
    'instances, REST',
    {
      start: startRest('application_instances', 4),
      list: async ({ reader, call }) => hostNames(await readOne(reader.instances, { applicationId: 7 }, call)),
    },
  ],
];

/** The field that identifies a member, and the field that names it. */
const idOf = (member: Member): string => ('guid' in member ? 'guid' : 'id');
const nameOf = (member: Member): string => ('host' in member ? 'host' : 'name');
const second = (members: unknown[]): Member => members[1] as Member;

const FORMS: [string, 'invalid_response' | 'too_large', Change][] = [
  ['null', 'invalid_response', (members) => (members[1] = null)],
  ['a text', 'invalid_response', (members) => (members[1] = 'broken')],
  ['a list', 'invalid_response', (members) => (members[1] = [])],
  ['without an id', 'invalid_response', (members) => Reflect.deleteProperty(second(members), idOf(second(members)))],
  ['with an id of another type', 'invalid_response', (members) => (second(members)[idOf(second(members))] = true)],
  ['with an id that is too large', 'invalid_response', (members) => (second(members)[idOf(second(members))] = 2 ** 60)],
  ['without a name', 'invalid_response', (members) => Reflect.deleteProperty(second(members), nameOf(second(members)))],
  ['with a name of another type', 'invalid_response', (members) => (second(members)[nameOf(second(members))] = 7)],
  [
    'with a name that is too long',
    'too_large',
    (members) => (second(members)[nameOf(second(members))] = 'x'.repeat(10_001)),
  ],
];

const plain = (names: readonly string[]): string[] => names.map((name) => name.replace(/ \*$/, '')).toSorted();

describe.each(KINDS)('in a list of %s', (_, { start, list }) => {
  it.each(FORMS)(
    'a member that is %s is left out of the first list, and stays in later ones',
    async (__, reason, change) => {
      const lists = await start();
      lists.change = change;
      const readable = await list(lists);
      const words = reason === 'too_large' ? /left out 1 record because/ : /left out 1 bad record/;
      expect(lists.notes.failures).toEqual([{ reason, message: expect.stringMatching(words) as string }]);
      lists.change = undefined;
      const all = await list(lists);
      expect(plain(all)).not.toEqual(plain(readable));
      expect(all).toHaveLength(readable.length + 1);
      for (const each of [1, 2]) {
        lists.change = change;
        const later = await list(lists);
        expect(plain(later)).toEqual(plain(all));
        // Old rolling values are not served as current ones.
        expect(later.filter((name) => name.endsWith('*'))).toEqual(readable.filter((name) => name.endsWith('*')));
        expect(lists.notes.failures).toHaveLength(1 + each);
      }
      // The log has one line for it.
      expect(lists.notes.leftOut).toHaveLength(1);
    },
  );

  it('a member that is no longer listed disappears at once, also beside a member with only a readable id', async () => {
    const lists = await start();
    const all = await list(lists);
    lists.change = (members) => {
      members.pop();
      Reflect.deleteProperty(second(members), nameOf(second(members)));
    };
    expect(await list(lists)).toHaveLength(all.length - 1);
    lists.change = undefined;
    expect(plain(await list(lists))).toEqual(plain(all));
  });

  it('the lack of any readable member is a failure until the next good list', async () => {
    const lists = await start();
    const all = await list(lists);
    lists.change = (members) => members.fill(null);
    expect(await endOf(list(lists))).toMatch(/^invalid_response: /);
    lists.change = (members) => {
      for (const member of members as Member[]) member[nameOf(member)] = 'x'.repeat(10_001);
    };
    expect(await endOf(list(lists))).toMatch(
      /^too_large: .*none of the 4 .* of "x{120}" has more than 10,000 characters/,
    );
    lists.change = undefined;
    expect(plain(await list(lists))).toEqual(plain(all));
  });
});

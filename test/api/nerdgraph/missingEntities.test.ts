import { describe, expect, it } from 'vitest';
import { findDoubtful } from '../../../src/api/nerdgraph/missingEntities.ts';
import type { CallKind, FaultRuleInput } from '../../../simulator/faults/faultRules.ts';
import type { Reading } from '../support/reading.ts';
import { startBoth } from './nerdGraphReading.ts';

const guids = (count: number, first = 0): string[] => Array.from({ length: count }, (_, index) => `g${first + index}`);
const earlier = (count: number, absences: Readonly<Record<string, number>> = {}) => ({
  entities: new Map(guids(count).map((guid) => [guid, {}])),
  absences: new Map(Object.entries(absences)),
});
/** The searches of all lists. */
const LIST_ON: CallKind[] = ['graphql_applications', 'graphql_key_transactions', 'graphql_entity_list'];

describe('an entity that a list lacks', () => {
  it.each<[string, ReturnType<typeof earlier>, string[], number, Record<string, number>]>([
    ['is gone at once where the list has one page', earlier(3), guids(2), 1, {}],
    ['is in doubt where the list has several pages', earlier(3), guids(2), 2, { g2: 1 }],
    ['is in doubt a second time', earlier(3, { g2: 1 }), guids(2), 2, { g2: 2 }],
    ['is gone the third time', earlier(3, { g2: 2 }), guids(2), 2, {}],
    ['starts a new count after it was listed', earlier(3, { g1: 2 }), guids(2), 2, { g2: 1 }],
    ['does not exist where all entities are listed', earlier(3), guids(5), 2, {}],
    ['is in doubt if it is one of 199', earlier(199), [], 2, Object.fromEntries(guids(199).map((guid) => [guid, 1]))],
    ['is in doubt if it is one of 200', earlier(200), [], 2, Object.fromEntries(guids(200).map((guid) => [guid, 1]))],
    ['is gone at once if it is one of more than 200', earlier(201), [], 2, {}],
  ])('%s', (_, before, listed, pages, doubtful) => {
    expect(Object.fromEntries(findDoubtful(before, new Set(listed), pages))).toEqual(doubtful);
  });
});

interface Listed {
  readonly id: string;
  readonly name: string;
}

/** Each kind of list. */
const KINDS: [string, (reading: Reading) => Promise<Listed[]>][] = [
  [
    'applications',
    async ({ reader, call }) =>
      (await reader.listApplications({}, call)).map(({ id, name }) => ({ id: String(id), name })),
  ],
  [
    'key transactions',
    async ({ reader, call }) =>
      (await reader.listKeyTransactions({}, call)).map(({ id, name }) => ({ id: String(id), name })),
  ],
  [
    'entities',
    async ({ reader, call }) =>
      (await reader.entities!.list('EXT-SERVICE', call)).map(({ guid, name }) => ({ id: guid, name })),
  ],
];

describe.each(KINDS)('a list of %s that changes between two pages', (_, list) => {
  async function start() {
    const options = { applications: 205, keyTransactions: 205, hostsPerApplication: 1 };
    const { simulator, nerdGraph } = await startBoth(options);
    const first = await list(nerdGraph);
    // An entity of the first page with a unique name.
    const victim = first.find(({ name }) => first.filter((each) => each.name === name).length === 1)!;
    expect(first.indexOf(victim)).toBeLessThan(150);
    const all = first.map(({ id }) => id).sort();
    expect(all).toHaveLength(205);
    return {
      simulator,
      all,
      others: all.filter((id) => id !== victim.id),
      ids: async () => (await list(nerdGraph)).map(({ id }) => id).sort(),
      lookUps: () => simulator.requests.byKind['graphql_entities'] ?? 0,
      omit: (matcher: Omit<FaultRuleInput & { effect: 'omit' }, 'effect' | 'entity'>) =>
        simulator.faults.add({ effect: 'omit', entity: victim.name, ...matcher }),
    };
  }

  it('keeps an entity that fell between the pages, and drops a deleted entity with the next list', async () => {
    const { simulator, all, others, ids, lookUps, omit } = await start();
    // The entity is deleted after the first page. All later ones move up, the 201st to the page already read.
    omit({ on: LIST_ON, skip: 1 });
    omit({ on: 'graphql_entities' });
    simulator.requests.clear();
    expect(await ids()).toEqual(all);
    expect(lookUps()).toBe(1);
    simulator.requests.clear();
    expect(await ids()).toEqual(others);
    expect(lookUps()).toBe(1);
    simulator.requests.clear();
    expect(await ids()).toEqual(others);
    expect(lookUps()).toBe(0);
  });

  it('makes no further call while nothing is missing', async () => {
    const { simulator, all, ids } = await start();
    simulator.requests.clear();
    expect(await ids()).toEqual(all);
    expect(simulator.requests.count()).toBe(2);
  });

  it('is not refused because an entity was added', async () => {
    const { simulator, all, ids, omit } = await start();
    // Only the second page counts the new entity. It begins with the last entity of the first page.
    omit({ on: LIST_ON, times: 1 });
    expect(await ids()).toEqual(all);
    simulator.faults.clear();
    expect(await ids()).toEqual(all);
  });

  it('keeps an entity that the look-up finds until three lists in a row lack it', async () => {
    const { simulator, all, others, ids, lookUps, omit } = await start();
    omit({ on: LIST_ON });
    simulator.requests.clear();
    expect(await ids()).toEqual(all);
    expect(await ids()).toEqual(all);
    expect(lookUps()).toBe(2);
    expect(await ids()).toEqual(others);
    expect(lookUps()).toBe(2);
  });

  it.each<[string, FaultRuleInput]>([
    ['with a status', { effect: 'status', status: 500, on: 'graphql_entities' }],
    ['with an error', { effect: 'graphql-error', on: 'graphql_entities' }],
    ['without entities', { effect: 'null-alias', on: 'graphql_entities' }],
  ])('changes nothing where the look-up fails %s', async (__, rule) => {
    const { simulator, all, others, ids, omit } = await start();
    omit({ on: LIST_ON });
    simulator.faults.add(rule);
    expect(await ids()).toEqual(all);
    expect(await ids()).toEqual(all);
    expect(await ids()).toEqual(others);
  });
});

it('a list of one page drops missing entities at once, without a look-up', async () => {
  const { simulator, nerdGraph } = await startBoth({ applications: 200, hostsPerApplication: 1 });
  const { reader, call } = nerdGraph;
  const [first] = await reader.listApplications({}, call);
  simulator.faults.add({ effect: 'omit', entity: first!.name, on: 'graphql_applications' });
  expect(await reader.listApplications({}, call)).toHaveLength(199);
  expect(simulator.requests.byKind['graphql_entities']).toBeUndefined();
});

it('a list of several pages drops more than 200 missing entities at once, and looks 200 up in 8 calls', async () => {
  const { simulator, nerdGraph } = await startBoth({ applications: 450, hostsPerApplication: 1 });
  const { reader, call } = nerdGraph;
  const list = await reader.listApplications({}, call);
  for (const { id } of list.slice(0, 200)) simulator.change(id, { removed: true });
  expect(await reader.listApplications({}, call)).toHaveLength(250);
  expect(simulator.requests.byKind['graphql_entities']).toBe(8);
  for (const { id } of list.slice(0, 200)) simulator.restore(id);
  expect(await reader.listApplications({}, call)).toHaveLength(450);
  simulator.requests.clear();
  for (const { id } of list.slice(0, 201)) simulator.change(id, { removed: true });
  expect(await reader.listApplications({}, call)).toHaveLength(249);
  expect(simulator.requests.byKind['graphql_entities']).toBeUndefined();
});

import { describe, expect, it, onTestFinished } from 'vitest';
import { startServer } from '../support/testServer.ts';
import { readNerdGraph } from './nerdGraphReading.ts';

const CONDITION = {
  id: '7',
  policyId: '1',
  name: 'Queue',
  enabled: true,
  type: 'STATIC',
  nrql: { query: 'SELECT count(*) FROM Transaction' },
  terms: [],
};

const CONDITIONS = ['actor', 'account', 'alerts', 'nrqlConditionsSearch', 'nrqlConditions'];

/** What a service says of each search, in the order in which they are read. */
interface Said {
  readonly policies?: readonly object[];
  readonly conditions?: readonly object[];
  readonly older?: readonly object[];
  readonly compound?: readonly object[] | null;
  readonly muting?: readonly object[] | null;
  readonly total?: number;
  /** Beside the first page of conditions. */
  readonly errors?: readonly object[];
}

/** The settings that are read of a service with one page for each search. */
async function read({
  policies = [{ id: '1', name: 'Team' }],
  conditions = [],
  older = [],
  compound = [],
  muting = [],
  total,
  errors,
}: Said) {
  const pages = [
    { policiesSearch: { policies, totalCount: policies.length, nextCursor: null } },
    { nrqlConditionsSearch: { nrqlConditions: conditions, totalCount: total ?? conditions.length, nextCursor: null } },
    { asNrqlConditionsSearch: { nrqlConditions: older, totalCount: older.length, nextCursor: null } },
    { compoundConditions: { items: compound, totalCount: compound?.length ?? 0, nextCursor: null } },
    { mutingRules: muting },
  ];
  const server = await startServer((response, _, index) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(
      JSON.stringify({
        data: { actor: { account: { alerts: pages[index] } } },
        errors: index === 1 ? errors : undefined,
      }),
    );
  });
  onTestFinished(() => server.close());
  const { reader, call } = readNerdGraph(`${server.origin}/graphql`);
  return reader.alertSettings?.(call);
}

describe('the alert settings of an account', () => {
  it('have one condition for each id, also where both searches give it', async () => {
    const found = await read({
      conditions: [CONDITION],
      older: [
        { ...CONDITION, name: 'As NRQL' },
        { ...CONDITION, id: '8' },
      ],
    });
    expect(found?.conditions.map(({ id, name }) => [id, name])).toEqual([
      ['7', 'Queue'],
      ['8', 'Queue'],
    ]);
  });

  it('name the policy of every condition, also one that is on no list', async () => {
    const compound = [
      { id: '9', name: 'Both', policyId: '3' },
      { id: '10', name: 'Of no policy' },
    ];
    const found = await read({ conditions: [CONDITION, { ...CONDITION, id: '8', policyId: '2' }], compound });
    expect(found?.policies).toEqual([
      { id: '1', name: 'Team' },
      { id: '2', name: '2' },
      { id: '3', name: '3' },
    ]);
  });

  it('have no compound conditions and no muting rules where those lists are null and none are counted', async () => {
    expect(await read({ compound: null, muting: null })).toMatchObject({ compoundConditions: [], mutingRules: [] });
  });

  it.each<[string, Said, string]>([
    ['there are more than 10,000', { total: 10_001 }, 'at most 10000 conditions'],
    ['fewer arrive than are counted', { conditions: [CONDITION], total: 2 }, 'but New Relic counts 2'],
    [
      'a field failed, whose null would be another setting',
      {
        conditions: [{ ...CONDITION, signal: null }],
        errors: [{ message: 'odd', path: [...CONDITIONS, 0, 'signal'] }],
      },
      'odd',
    ],
    ['one cannot be read', { conditions: [{ ...CONDITION, enabled: 'yes' }] }, 'cannot be read: enabled'],
  ])('are a failure where %s', async (_, said, words) => {
    await expect(read(said)).rejects.toThrow(words);
  });
});

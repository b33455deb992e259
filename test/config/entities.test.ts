import { describe, expect, it } from 'vitest';
import { configOf, faultsOf } from './reading.ts';

/** An account with entities, given as a flow list. */
const withEntities = (entities: string, keys = 'account_id: 7'): string =>
  `accounts:\n  - {api_key: abcd, ${keys}, entities: ${entities}}\n`;

describe('entities of an account', () => {
  it('have defaults', () => {
    expect(configOf(withEntities('[{type: EXT-SERVICE}]')).accounts[0]?.entities).toEqual([
      { type: 'EXT-SERVICE', exclude: [], tags: [], interval: 60_000, max_entities: 1_000 },
    ]);
  });

  it('are chosen by name and tag like applications', () => {
    const text = '[{type: INFRA-HOST, include: [{name: "web-*"}, {tag: team, value: pay*}], window: 5m, interval: 2m}]';
    expect(configOf(withEntities(text)).accounts[0]?.entities[0]).toMatchObject({
      include: [{ name: 'web-*' }, { tag: 'team', value: 'pay*' }],
      ...{ window: 300_000, interval: 120_000 },
    });
  });

  it('need the account number with REST only', () => {
    expect(faultsOf(withEntities('[{type: EXT-A}]', 'api: rest')).join('\n')).toContain('account_id');
    expect(configOf(withEntities('[{type: EXT-A}]', 'api: nerdgraph')).accounts[0]?.entities).toHaveLength(1);
  });

  it.each(['entity', 'entity_guid', 'entity_type'])('reserve the label %s, in their account only', (label) => {
    expect(faultsOf(withEntities('[{type: EXT-A}]', `account_id: 7, labels: {${label}: x}`)).join('\n')).toContain(
      label,
    );
    expect(configOf(withEntities('[]', `labels: {${label}: x}`)).accounts[0]?.labels).toEqual({ [label]: 'x' });
  });
});

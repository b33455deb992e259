import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { redactConfig } from '../../src/config/schema/file.ts';
import { configOf, withAccount } from './reading.ts';

const SECRET = 'NRAK-S3CR3T';

describe('the running configuration as shown', () => {
  it('hides keys, and writes durations as in a file', () => {
    const config = configOf(`accounts: [{api_key: ${SECRET}}]\ncollection: {window: 90m, delay: 0s}\n`);
    const shown = redactConfig(config);
    for (const line of ['api_key: <secret>', 'region: us', 'window: 1h30m', 'delay: 0s', 'metric_names: 6h'])
      expect(shown).toContain(line);
    expect(shown).not.toContain(SECRET);
  });

  it('repeats what accounts share through aliases', () => {
    const labels = 'labels: &shared {team: payments}';
    const config = configOf(
      `accounts:\n  - {name: a, api_key: ${SECRET}, ${labels}}\n  - {name: b, api_key: ${SECRET}, labels: *shared}\n`,
    );
    expect(redactConfig(config).match(/team: payments/g)).toHaveLength(2);
    expect(redactConfig(config)).not.toMatch(/[&*]\w/);
  });

  it.each([
    ['a region', withAccount('region: eu')],
    ['a base address', withAccount('api: rest, base_url: "https://proxy.example/x"')],
    ['a key file', 'accounts: [{api_key_file: /run/key}]'],
    ['a literal placeholder', withAccount('labels: {team: "$${A}"}, name: "a: b # c"')],
    [
      'lists',
      withAccount(
        'key_transactions: {exclude: [{id: 3}]}, applications: {include: [{name: "*"}], settings: [{match: {id: 1}}]}, custom_metrics: [{name: a, match: "Custom/{x}", value: count}]',
      ),
    ],
    [
      'tags',
      withAccount(
        'api: nerdgraph, applications: {include: [{tag: team, value: a}], exclude: [{name: b, tag: c}], tags: [team]}',
      ),
    ],
    ['no applications', withAccount('applications: false')],
    ['every key', readFileSync(new URL('../../config.example.yaml', import.meta.url), 'utf8')],
  ])('loads as the same configuration except for the keys: %s', (_what, text) => {
    const config = configOf(text, { NEW_RELIC_API_KEY: SECRET });
    const accounts = config.accounts.map((account) => ({ ...account, api_key: account.api_key && '<secret>' }));
    expect(configOf(redactConfig(config))).toEqual({ ...config, accounts });
  });
});

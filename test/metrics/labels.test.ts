import { describe, expect, it } from 'vitest';
import { RESERVED_LABEL_NAMES } from '../../src/metrics/catalogue.ts';
import {
  applicationLabels,
  hostLabels,
  instanceLabels,
  keyTransactionLabels,
  UNCAPTURABLE_LABEL_NAMES,
} from '../../src/metrics/labelNames.ts';

const SHOP = { id: 17, name: 'shop "A"' };
const HOST = { key: '3', host: 'web-1' };
const STATIC = { team: 'payments' };

describe('labels', () => {
  it.each([
    [
      'an application',
      applicationLabels({ name: 'eu', labels: STATIC }, SHOP),
      [
        ['account', 'eu'],
        ['app', 'shop "A"'],
        ['app_id', '17'],
      ],
    ],
    [
      'a host',
      hostLabels({ name: 'eu', labels: STATIC }, SHOP, HOST),
      [
        ['account', 'eu'],
        ['app', 'shop "A"'],
        ['app_id', '17'],
        ['host', 'web-1'],
        ['host_id', '3'],
      ],
    ],
    [
      'an instance',
      instanceLabels({ name: 'eu', labels: STATIC }, SHOP, { id: 4, host: 'web-1', hostId: 3, port: 0 }),
      [
        ['account', 'eu'],
        ['app', 'shop "A"'],
        ['app_id', '17'],
        ['host', 'web-1'],
        ['host_id', '3'],
        ['instance_id', '4'],
        ['port', '0'],
      ],
    ],
    [
      'a key transaction',
      keyTransactionLabels({ name: 'eu', labels: STATIC }, 'shop', { id: 9, name: 'Pay', applicationId: 17 }),
      [
        ['account', 'eu'],
        ['app', 'shop'],
        ['app_id', '17'],
        ['key_transaction', 'Pay'],
        ['key_transaction_id', '9'],
      ],
    ],
  ])('of %s are those that docs/metrics.md names, the static ones last', (_, labels, expected) => {
    expect(Object.entries(labels)).toEqual([...expected, ['team', 'payments']]);
  });

  it('are empty where upstream does not say', () => {
    expect(
      instanceLabels({ name: 'eu', labels: {} }, SHOP, { id: 4, host: 'web-1', hostId: undefined, port: undefined }),
    ).toMatchObject({
      host_id: '',
      port: '',
    });
    expect(
      keyTransactionLabels({ name: 'eu', labels: {} }, undefined, { id: 9, name: 'Pay', applicationId: undefined }),
    ).toMatchObject({
      app: '',
      app_id: '',
    });
  });

  it('tell two hosts of one name apart', () => {
    expect(hostLabels({ name: 'eu', labels: {} }, SHOP, HOST)).not.toEqual(
      hostLabels({ name: 'eu', labels: {} }, SHOP, { ...HOST, key: '5' }),
    );
  });
});

describe('RESERVED_LABEL_NAMES', () => {
  it('holds every label of our families and queries, and those of Prometheus', () => {
    const ours = 'account api app app_id code component endpoint family group host host_id instance_id key_transaction';
    const others = 'percentile port query reason region result state status zone instance job le quantile';
    for (const name of `${ours} ${others}`.split(' ')) expect(RESERVED_LABEL_NAMES).toContain(name);
    for (const name of ['team', 'environment', 'cluster']) expect(RESERVED_LABEL_NAMES).not.toContain(name);
  });

  it('holds what a template may not capture', () => {
    for (const name of UNCAPTURABLE_LABEL_NAMES) expect(RESERVED_LABEL_NAMES).toContain(name);
  });
});

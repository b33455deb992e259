import { describe, expect, it } from 'vitest';
import { RESERVED_LABEL_NAMES } from '../../src/metrics/catalogue.ts';
import { UNCAPTURABLE_LABEL_NAMES } from '../../src/metrics/family.ts';
import {
  applicationLabels,
  hostLabels,
  instanceLabels,
  keyTransactionLabels,
} from '../../src/metrics/listedFamilies.ts';

const SHOP = { id: 17, name: 'shop "A"' };
const HOST = { key: '3', host: 'web-1' };
const ACCOUNT = { name: 'eu', labels: { team: 'payments' } };

describe('labels', () => {
  it.each([
    ['an application', applicationLabels(ACCOUNT, SHOP), ''],
    ['a host', hostLabels(ACCOUNT, SHOP, HOST), ', host=web-1, host_id=3'],
    [
      'an instance',
      instanceLabels(ACCOUNT, SHOP, { id: 4, host: 'web-1', hostId: 3, port: 0 }),
      ', host=web-1, host_id=3, instance_id=4, port=0',
    ],
    [
      'a key transaction',
      keyTransactionLabels(ACCOUNT, SHOP.name, { id: 9, name: 'Pay', applicationId: 17 }),
      ', key_transaction=Pay, key_transaction_id=9',
    ],
  ])('of %s are the labels in docs/metrics.md, followed by the static labels', (_, labels, subjectLabels) => {
    const written = Object.entries(labels).map((pair) => pair.join('='));
    expect(written.join(', ')).toBe(`account=eu, app=shop "A", app_id=17${subjectLabels}, team=payments`);
  });

  it('are empty where upstream gives no value', () => {
    const instance = { id: 4, host: 'web-1', hostId: undefined, port: undefined };
    expect(instanceLabels(ACCOUNT, SHOP, instance)).toMatchObject({ host_id: '', port: '' });
    const transaction = { id: 9, name: 'Pay', applicationId: undefined };
    expect(keyTransactionLabels(ACCOUNT, undefined, transaction)).toMatchObject({ app: '', app_id: '' });
  });

  it('distinguish two hosts of the same name', () => {
    expect(hostLabels(ACCOUNT, SHOP, HOST)).not.toEqual(hostLabels(ACCOUNT, SHOP, { ...HOST, key: '5' }));
  });
});

describe('RESERVED_LABEL_NAMES', () => {
  it('holds every label of families and queries of the exporter, and the labels of Prometheus', () => {
    const ours = 'account api app app_id code component endpoint family group host host_id instance_id key_transaction';
    const others = 'percentile port query reason region result state status zone instance job le quantile';
    for (const name of `${ours} ${others}`.split(' ')) expect(RESERVED_LABEL_NAMES).toContain(name);
    for (const name of ['team', 'environment', 'cluster']) expect(RESERVED_LABEL_NAMES).not.toContain(name);
  });

  it('holds every label that a template must not capture', () => {
    for (const name of UNCAPTURABLE_LABEL_NAMES) expect(RESERVED_LABEL_NAMES).toContain(name);
  });
});

import type { KeyTransaction } from '../world/keyTransactions.ts';

/** The service's name of an entity: account, domain, type and its own id, in base64. */
interface GuidParts {
  readonly account: number;
  readonly domain: 'APM' | 'EXT';
  readonly type: 'APPLICATION' | 'KEY_TRANSACTION';
  readonly id: number;
}

/** The account of an application that the key cannot see. */
const OTHER_ACCOUNT = 7_654_321;
/** In the guid, a key transaction has another id than the one that the REST interface uses. */
const KEY_TRANSACTION_OFFSET = 1_777_770;

function encode({ account, domain, type, id }: GuidParts): string {
  return Buffer.from(`${account}|${domain}|${type}|${id}`).toString('base64');
}

/** Entities bear their guid without the padding of base64. */
const unpadded = (guid: string): string => guid.replace(/=+$/, '');

export function applicationGuid(account: number, id: number): string {
  return unpadded(encode({ account, domain: 'APM', type: 'APPLICATION', id }));
}

export function keyTransactionGuid(account: number, id: number): string {
  return unpadded(encode({ account, domain: 'EXT', type: 'KEY_TRANSACTION', id: id + KEY_TRANSACTION_OFFSET }));
}

/** The guid that a key transaction names as its application's: of some with the padding, of some without. */
export function owningApplicationGuid(account: number, key: KeyTransaction): string {
  const isVisible = key.applicationId === key.source.applicationId;
  const guid = encode({
    account: isVisible ? account : OTHER_ACCOUNT,
    domain: 'APM',
    type: 'APPLICATION',
    id: key.applicationId,
  });
  return key.id % 2 === 0 ? guid : unpadded(guid);
}

/** Whether two guids name the same entity, padded or not. */
export function isSameGuid(one: string, other: string): boolean {
  return unpadded(one) === unpadded(other);
}

import { identify } from './identity.ts';

const FIRST_KEY_TRANSACTION_ID = 5_000_001;
/** An application of the account that the key cannot see. */
const INVISIBLE_APPLICATION_ID = 9_999_999;

/** A transaction that somebody marked as important. */
export interface KeyTransaction {
  readonly id: number;
  readonly name: string;
  readonly transactionName: string;
  /** The owning application as the body names it. */
  readonly applicationId: number;
  readonly apdexTarget: number;
  /** Where its figures come from: `WebTransaction/<transaction>` of this application. */
  readonly source: { readonly applicationId: number; readonly transaction: string };
  /** `idle`: zeros; `silent`: does not report; `bare`: a body of 2014, without status fields. */
  readonly state: 'busy' | 'idle' | 'silent' | 'bare';
}

const SPECIAL_STATES: Readonly<Record<number, KeyTransaction['state']>> = { 1: 'idle', 3: 'bare', 4: 'silent' };
const INVISIBLE_INDEX = 2;

/**
 * The key transactions of a world. The first busy ones follow the transactions of the web applications in turn; the
 * second is idle, the third belongs to an invisible application, the fourth is bare, the fifth silent.
 */
export function keyTransactions(count: number, applications: number): readonly KeyTransaction[] {
  const parents = Array.from({ length: applications }, (_, index) => index).flatMap((index) => {
    const application = identify(index, applications, new Map());
    const kind = application?.archetype;
    if (application === undefined || kind?.reporting !== true || (kind.web?.perMinute ?? 0) === 0) return [];
    return kind.transactions.slice(-1).map(({ name, slowness }) => ({
      application,
      transaction: name,
      apdexTarget: kind.apdexTarget * slowness,
    }));
  });
  return Array.from({ length: count }, (_, index) => index).flatMap((index): readonly KeyTransaction[] => {
    const parent = parents[index % parents.length];
    if (parent === undefined) return [];
    const { transaction, apdexTarget, application } = parent;
    const name = `${application.name}: ${transaction.split('/').slice(1).join('/')}`;
    return [
      {
        id: FIRST_KEY_TRANSACTION_ID + index,
        name: index < parents.length ? name : `${name} (${Math.floor(index / parents.length) + 1})`,
        transactionName: `WebTransaction/${transaction}`,
        applicationId: index === INVISIBLE_INDEX ? INVISIBLE_APPLICATION_ID : application.id,
        apdexTarget,
        source: { applicationId: application.id, transaction },
        state: SPECIAL_STATES[index] ?? 'busy',
      },
    ];
  });
}

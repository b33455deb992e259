import type { KeyTransaction } from '../../api/types.ts';
import { writeLabels } from '../../metrics/labelText.ts';
import { keyTransactionLabels } from '../../metrics/labels.ts';
import type { AccountContext } from './context.ts';
import type { Entities } from './entities.ts';
import { KEY_TRANSACTION_LIST } from './listSamples.ts';
import type { KeyTransactionRecord } from './records.ts';

/** Builds the records of key transactions, and keeps what is known of those that stay. */
export class KeyTransactionRecords {
  readonly #context: Readonly<AccountContext>;
  readonly #entities: Entities;

  constructor(context: Readonly<AccountContext>, entities: Entities) {
    this.#context = context;
    this.#entities = entities;
  }

  /** @param owner the name of its application, where the list of applications has it */
  record(
    before: KeyTransactionRecord | undefined,
    keyTransaction: KeyTransaction,
    owner: string | undefined,
  ): KeyTransactionRecord {
    const { account, reader } = this.#context;
    const { id, applicationId } = keyTransaction;
    const labels = keyTransactionLabels(account.name, account.labels, owner, keyTransaction);
    const subject = { keyTransactionId: id, ...(applicationId === undefined ? {} : { applicationId }) };
    // One that does not report is read too: while its application reports, silence means no requests.
    const rolls = reader.rolling !== undefined;
    const unchanged = before?.keyTransaction === keyTransaction;
    // With another application it is an entity of that one's.
    const isMoved = before !== undefined && before.keyTransaction.applicationId !== applicationId;
    if (isMoved && before.rolling !== undefined) this.#entities.retire([before.rolling.entity]);
    const held = isMoved ? undefined : before?.rolling;
    const rolling = this.#entities.keepRolling(rolls, held, 'key_transaction_rolling', subject);
    if (!unchanged) KEY_TRANSACTION_LIST.writeRolling(keyTransaction, rolling);
    return {
      keyTransaction,
      labels: writeLabels(labels, before?.labels),
      samples: unchanged ? before.samples : KEY_TRANSACTION_LIST.write(keyTransaction),
      rolling,
    };
  }
}

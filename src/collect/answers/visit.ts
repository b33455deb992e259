import type { Inventory } from '../inventory/inventory.ts';
import type { ApplicationRecord, KeyTransactionRecord } from '../inventory/records.ts';

/** Looks at what an account holds, one part after another. */
export interface Visitor {
  /** An application with all that belongs to it. */
  application(record: ApplicationRecord): void;
  keyTransaction(record: KeyTransactionRecord): void;
}

/**
 * Shows visitors an account: the applications in the order of their list, then the key transactions. Gives
 * after each part how many entities it had, so that other work may go on before the next. All visitors see one part as
 * it is at one moment.
 */
export function* visit(inventory: Inventory, visitors: readonly Visitor[]): Generator<number> {
  for (const record of inventory.applications.values()) {
    for (const visitor of visitors) visitor.application(record);
    yield 1 + (record.data?.hosts.size ?? 0);
  }
  for (const record of inventory.keyTransactions.values()) {
    for (const visitor of visitors) visitor.keyTransaction(record);
    yield 1;
  }
}

/** As `visit`, all at once. */
export function visitAtOnce(inventory: Inventory, visitors: readonly Visitor[]): void {
  const steps = visit(inventory, visitors);
  while (steps.next().done !== true);
}

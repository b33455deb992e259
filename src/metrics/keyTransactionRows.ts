import type { KeyTransaction } from '../api/types.ts';
import { rowMaker } from './family.ts';
import { apdexTargetRow, endUserRows, trafficRows } from './rollingRows.ts';
import type { WithRolling } from './rollingRows.ts';
import { healthStatusRow, info, reportingRows } from './stateRows.ts';

/** A key transaction's entry in the list, and its rolling values. */
export interface KeyTransactionInput extends WithRolling {
  readonly entry: KeyTransaction;
}

const PREFIX = { prefix: 'newrelic_key_transaction', group: 'key_transactions' } as const;
const state = rowMaker<KeyTransactionInput>({ ...PREFIX, timeBase: 'state' });
const rolling = rowMaker<KeyTransactionInput>({ ...PREFIX, timeBase: 'rolling10' });

/** Families of key transactions: state and rolling values. */
export const KEY_TRANSACTION = {
  info: state({
    suffix: 'info',
    meaning: '1, with what is known about the key transaction',
    source: 'transaction_name',
    nerdgraph: 'metricName',
    labelNames: ['transaction_name'],
    calculate: ({ entry: { transactionName = '' } }) => info({ transaction_name: transactionName }),
  }),
  ...reportingRows(state, 'key transaction'),
  healthStatus: healthStatusRow(state, 'key transaction', true),
  ...trafficRows(rolling, {
    responseTime: 'apm.key.transaction.duration of the last 10 minutes',
    requests: 'apm.key.transaction.duration of the last 10 minutes',
    errorRatio: 'apm.key.transaction.error.count / apm.key.transaction.duration of the last 10 minutes',
    apdexScore: "the application's metric Apdex/<transaction> of the last 10 minutes",
  }),
  rollingApdexTarget: apdexTargetRow(rolling),
  ...endUserRows(rolling, false),
};

import type { Timeslice } from '../world/timeslice.ts';
import type { Expression, NrqlQuery } from './query.ts';
import { KEY_TRANSACTION_DURATION, KEY_TRANSACTION_ERRORS, TIMESLICE_VALUE } from './query.ts';
import type { Attributes } from './series.ts';
import type { Reading, Tally } from './tally.ts';

/** Adds what a record says about an expression to its tally. */
export type Reader = (record: Timeslice, tally: Tally) => void;

const whole = ({ count, total, min, max }: Timeslice): Reading => ({ count, sum: total, min, max });
const single = (value: number): Reading => ({ count: 1, sum: value, min: value, max: value });
const counted = ({ count }: Timeslice): Reading => ({ count, sum: count, min: count, max: count });

/** How records with these attributes are read for an expression; undefined when they have nothing to say about it. */
export function readerOf(of: Expression, attributes: Attributes): Reader | undefined {
  if (of.kind === 'attribute') {
    const value = attributes[of.attribute];
    return typeof value === 'string' ? (_, tally) => tally.addValue(value) : undefined;
  }
  const name = of.kind === 'value' ? of.value : TIMESLICE_VALUE;
  if (typeof attributes[name] !== 'string') return undefined;
  if (of.kind === 'field') return (record, tally) => tally.add(single(record[of.field]));
  const reading = name === KEY_TRANSACTION_ERRORS ? counted : whole;
  return (record, tally) => tally.add(reading(record));
}

/** Which records a query is about: the service cannot mix timeslices with other data. */
export function datasetOf({ select, where }: NrqlQuery): 'timeslices' | 'key transactions' | 'mixed' {
  const text = JSON.stringify([select.map(({ of }) => of), where]);
  const isTimeslice = select.some(
    ({ of }) => of.kind === 'field' || (of.kind === 'value' && of.value === TIMESLICE_VALUE),
  );
  const isKeyTransaction = text.includes(KEY_TRANSACTION_DURATION) || text.includes(KEY_TRANSACTION_ERRORS);
  if (isTimeslice && isKeyTransaction) return 'mixed';
  return isKeyTransaction ? 'key transactions' : 'timeslices';
}

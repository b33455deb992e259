import type { FactRow } from './factRow.ts';
import { NRQL_FACTS } from './nrqlFacts.ts';
import { PACK_FACTS } from './packFacts.ts';
import { REST_FACTS } from './restFacts.ts';

const TABLE = { ...REST_FACTS, ...NRQL_FACTS, ...PACK_FACTS } as const;

export type FactId = keyof typeof TABLE;

/** A row of the tables, with its id. */
export interface Fact extends FactRow {
  readonly id: FactId;
  readonly follows?: readonly FactId[];
}

/** All facts, in the order of the output. The simulator can contradict each of them. */
export const FACTS: readonly Fact[] = (Object.keys(TABLE) as FactId[]).map((id) => ({ id, ...TABLE[id] }));

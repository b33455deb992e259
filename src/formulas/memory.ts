import { finite } from './finite.ts';

/** Bytes of a `Memory/Physical` value: upstream's megabytes are 1024² bytes (api-facts 4.5; contract 5.4). */
export function memoryBytes(megabytes: number | undefined): number | undefined {
  return megabytes === undefined ? undefined : finite(megabytes * 1_048_576);
}

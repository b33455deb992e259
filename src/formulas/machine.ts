import { finite } from './inputs.ts';

/** Bytes of a `Memory/Physical` value: upstream's megabytes are 1024² bytes. */
export function memoryBytes(megabytes: number | undefined): number | undefined {
  return megabytes === undefined ? undefined : finite(megabytes * 1_048_576);
}

/** CPU time per wall clock time, from `CPU/User Time:percent`; above 1 with several processes. */
export function cpuRatio(percent: number | undefined): number | undefined {
  return percent === undefined ? undefined : percent / 100;
}

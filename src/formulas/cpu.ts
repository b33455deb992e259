/** CPU time per wall clock time, from `CPU/User Time:percent` (contract 5.4); above 1 with several processes. */
export function cpuRatio(percent: number | undefined): number | undefined {
  return percent === undefined ? undefined : percent / 100;
}

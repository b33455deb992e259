/** The number, or undefined where the calculation left the finite numbers: such a result is published as absent. */
export function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

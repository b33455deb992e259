import { COUNT_VALUES } from '../world/values.ts';

/** Rounds to three significant digits, as the service does unless asked for raw values. */
export function threeDigits(value: number): number {
  return Number(value.toPrecision(3));
}

const EXACT: ReadonlySet<string> = new Set([
  ...COUNT_VALUES,
  'host_count',
  'instance_count',
  'concurrent_instance_count',
]);

/** Figures rounded to three significant digits; counts stay exact. */
export function roundFigures<Figures extends Readonly<Record<string, number>>>(
  figures: Figures,
): Record<keyof Figures, number>;
export function roundFigures(figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [name, EXACT.has(name) ? value : threeDigits(value)]),
  );
}

import { vi } from 'vitest';

/** Waits until this no longer throws; what it waits for costs time only when it never comes. */
export function eventually<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, { timeout: 90_000, interval: 10 });
}

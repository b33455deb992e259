/**
 * Works on the items, so many at a time, in order. After a failure no further item is begun; it rejects with the first
 * failure once all work that had begun has ended, so that nothing goes on behind the caller's back.
 */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const remaining = items.values();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (const item of remaining) {
      if (failures.length > 0) return;
      try {
        await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}

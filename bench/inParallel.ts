/** Runs the work `times` times, `atOnce` runs at once. */
export async function inParallel(times: number, atOnce: number, work: () => Promise<void>): Promise<void> {
  let remaining = times;
  const worker = async (): Promise<void> => {
    while (remaining > 0) {
      remaining -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Does the work a number of times, with a fixed number of runs at once. */
export async function inParallel(times: number, atOnce: number, work: () => Promise<void>): Promise<void> {
  let left = times;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Does the work so many times, so many of them under way all the time. */
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

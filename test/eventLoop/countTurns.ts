/** Counts the turns of the event loop until it is stopped. */
export function countTurns(): { readonly turn: () => number; readonly stop: () => void } {
  let turn = 0;
  let running = true;
  const next = (): void => {
    turn += 1;
    if (running) setImmediate(next);
  };
  setImmediate(next);
  return { turn: () => turn, stop: () => void (running = false) };
}

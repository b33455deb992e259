/** The first value, or the second where the first is absent or 0, which it is not while there are requests. */
export function orWhereZero(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined || first === 0 ? second : first;
}

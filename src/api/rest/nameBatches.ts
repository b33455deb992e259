/** The most metric names and characters of query that one metric data call carries. */
export const MOST_NAMES = 30;
export const MOST_CHARACTERS = 4_000;

/** What is tried once upstream has refused a longer list of names. */
export const CAUTIOUS_NAMES = 10;

/** What else the query holds: the window and the switches. */
const REST_OF_QUERY = 100;

const PER_NAME = '&names[]='.length + 4; // The brackets travel percent-encoded.

/** The most characters that one of a name can travel as. */
const LONGEST_CHARACTER = '%E8%AA%9E'.length;

/**
 * Splits names over as few calls as the limits allow, in order. A single name too long for a call goes alone. Names that
 * surely fit are the list they came in.
 */
export function batches(names: readonly string[], mostNames: number): readonly (readonly string[])[] {
  if (names.length <= mostNames && longestQuery(names) <= MOST_CHARACTERS) return names.length === 0 ? [] : [names];
  const result: string[][] = [];
  let batch: string[] = [];
  let characters = REST_OF_QUERY;
  for (const name of names) {
    const length = PER_NAME + encodeURIComponent(name).length;
    if (batch.length > 0 && (batch.length >= mostNames || characters + length > MOST_CHARACTERS)) {
      result.push(batch);
      batch = [];
      characters = REST_OF_QUERY;
    }
    batch.push(name);
    characters += length;
  }
  if (batch.length > 0) result.push(batch);
  return result;
}

function longestQuery(names: readonly string[]): number {
  return names.reduce((sum, { length }) => sum + PER_NAME + length * LONGEST_CHARACTER, REST_OF_QUERY);
}

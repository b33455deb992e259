/**
 * Words of messages by which New Relic says that a result is not whole; the first row that fits decides. `rows`: the result has
 * more rows or facets than were returned; `data`: its numbers are not those of all data. `source`: where New Relic says so.
 */
export const INCOMPLETE: readonly {
  readonly words: RegExp;
  readonly about: 'rows' | 'data';
  readonly source: string;
}[] = [
  {
    words: /maximum result member limit/i,
    about: 'data',
    source: 'the page "Use subqueries for linking multiple queries": a subquery gave more than 5,000 results',
  },
  {
    words: /cardinality (?:limit|budget|management)/i,
    about: 'data',
    source: 'the page "Manage cardinality", section "Cardinality warnings", which names no exact words',
  },
  {
    words: nearby(
      String.raw`\b(?:rows?|facets?|groups?)\b`,
      incomplete('too many|only the first|exceed\\w*|left out|omitted'),
    ),
    about: 'rows',
    source: 'our reading: the pages "Rate limits for NRQL" and "NRQL reference" (LIMIT) name the limit, but no message',
  },
  {
    words: nearby(String.raw`\b(?:results?|data|response)\b`, incomplete('')),
    about: 'data',
    source: 'our reading, after the words "an incomplete result" of the page on subqueries',
  },
];

/** The words that say of a thing that it is not whole, as a pattern. */
function incomplete(more: string): string {
  return String.raw`\b(?:incomplete|partial|truncated|limited to${more === '' ? '' : `|${more}`})\b`;
}

/** Matches two patterns in one sentence, in any order and with at most 60 characters between them. */
function nearby(one: string, other: string): RegExp {
  return new RegExp(`${one}[^.]{0,60}${other}|${other}[^.]{0,60}${one}`, 'i');
}

/** Limits for the messages that are looked at, and for the characters of each. */
const MAX_MESSAGES = 100;
const LONGEST_MESSAGE = 10_000;

/** New Relic's messages about a result of NRQL, each in one line. */
export function messagesIn(result: Readonly<Record<string, unknown>>): readonly string[] {
  const { metadata } = result;
  const messages: unknown =
    typeof metadata === 'object' && metadata !== null && 'messages' in metadata ? metadata.messages : undefined;
  if (!Array.isArray(messages)) return [];
  const texts = messages.slice(0, MAX_MESSAGES).filter((each) => typeof each === 'string');
  const plain = texts.map((each) =>
    each
      .slice(0, LONGEST_MESSAGE)
      .replace(/[\s\p{C}]+/gu, ' ')
      .trim(),
  );
  return plain.filter((each) => each !== '');
}

/**
 * The first message that says that the result is not whole; undefined without one.
 *
 * @param hasLimit true for a query that asks for a part of the rows: then messages about their number say nothing new
 */
export function incompleteWords(messages: readonly string[], hasLimit: boolean): string | undefined {
  return messages.find((message) => {
    const row = INCOMPLETE.find(({ words }) => words.test(message));
    return row !== undefined && !(hasLimit && row.about === 'rows');
  });
}

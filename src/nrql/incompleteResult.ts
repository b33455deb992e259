import { cutAtWord } from '../text/wording.ts';
import { removeQuotations } from './quotations.ts';

const ROWS = '(?:rows|facets|groups|records)';
const VERBS = '(?:(?:is|are|was|were|has|have|been|be|may|might|could|can|will|only|therefore|thus) ){0,4}';

/**
 * Patterns of New Relic's messages about incomplete results. The first match decides. `rows`: New Relic left out rows
 * or facets. `data`: New Relic calculated the numbers from a part of the data. `source`: where the words come from.
 */
export const INCOMPLETE: readonly {
  readonly words: readonly RegExp[];
  readonly about: 'rows' | 'data';
  readonly source: string;
}[] = [
  {
    words: [/maximum result member limit/i],
    about: 'data',
    source: 'the page "Use subqueries for linking multiple queries": a subquery gave more than 5,000 results',
  },
  {
    words: [/cardinality (?:limit|budget|management)/i],
    about: 'data',
    source: 'the page "Manage cardinality", section "Cardinality warnings", which names no exact words',
  },
  {
    words: [/\btimed out\b/i, /\bfound so far\b/i],
    about: 'data',
    source: 'our reading: a query that times out has not read all data',
  },
  {
    words: [
      /\b(?:data|results?|records|events|shards?) (?:\w+ ){0,3}(?:not|\w+n't) (?:be |been )?(?:read|searched|answer\w*|respond\w*)\b/i,
      /\bnot all (?:of )?(?:the )?(?:data|results|records|events|shards)\b[^.;:]{0,20}\b(?:read|searched|returned|included|answered|responded)\b/i,
      new RegExp(String.raw`\b(?:data|results?|records|events) ${VERBS}missing\b`, 'i'),
    ],
    about: 'data',
    source: 'our reading: the numbers lack the data that New Relic did not read',
  },
  {
    words: [
      new RegExp(String.raw`\btoo many (?:\w+ ){0,2}${ROWS}\b`, 'i'),
      new RegExp(
        String.raw`\b${ROWS}\b[^.;]{0,40}\b(?:exceed\w*|left out|omitted|truncated|incomplete|limited to)\b`,
        'i',
      ),
      new RegExp(String.raw`\b(?:limited to|truncated (?:to|after)|exceed\w*|omitted) (?:[\w,]+ ){0,4}${ROWS}\b`, 'i'),
      /\bonly (?:the )?first \d/i,
      /\bonly \d[\d,]* (?:out )?of (?:the )?\d/i,
      /\b(?:row|facet|group|result) limit (?:\w+ ){0,2}(?:exceeded|reached)\b/i,
      /\bresults?(?: sets?)? (?:is |was |are |were )?too (?:large|big)\b/i,
    ],
    about: 'rows',
    source: 'our reading: the pages "Rate limits for NRQL" and "NRQL reference" (LIMIT) name the limit, but no message',
  },
  {
    words: [
      /\b(?:partial|incomplete|truncated) (?:query )?(?:results?|data|response)\b(?! times?\b)|\blimited results?\b/i,
      new RegExp(String.raw`\b(?:results?|data|response)(?: sets?)? ${VERBS}(?:partial|incomplete|truncated)\b`, 'i'),
      new RegExp(
        String.raw`\b(?:results?|data|response) ${VERBS}limited\b(?! to \d+ (?:\w+ )?(?:digit|decimal|character|place))`,
        'i',
      ),
      /\blimited to (?:the )?(?:data|results)\b/i,
    ],
    about: 'data',
    source: 'our reading, after the words "an incomplete result" of the page on subqueries',
  },
];

/** Matches a name with dots, which comes from a user. */
const INNER_DOT = /\w\.\w/;
/** Matches a denial ("no partial results"). */
const DENIED =
  /\b(?:no|not|never|without|\w+n't)(?: (?!but |only |all )\w+){0,3} (?:partial|incomplete|truncated|limited|missing|omitted|left out|timed out|exceed\w*|too (?:many|large|big))\b/gi;

const MAX_MESSAGES = 100;
const LONGEST_MESSAGE = 10_000;

const LONGEST_QUOTED = 120;

export function describeIncomplete(message: string): string {
  return `New Relic reports an incomplete result: ${cutAtWord(message, LONGEST_QUOTED)}`;
}

/** Returns New Relic's messages about an NRQL result, a line each. */
export function readMessages(result: Readonly<Record<string, unknown>>): readonly string[] {
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
 * Returns the first message that reports an incomplete result.
 *
 * @param hasLimit true for a query that requests a part of the rows: messages about missing rows then mean nothing
 */
export function findIncompleteMessage(messages: readonly string[], hasLimit: boolean): string | undefined {
  return messages.find((message) => {
    const written = removeQuotations(message).split(' ');
    const words = written
      .filter((word) => !INNER_DOT.test(word))
      .join(' ')
      .replace(DENIED, ' ');
    const row = INCOMPLETE.find((each) => each.words.some((pattern) => pattern.test(words)));
    return row !== undefined && !(hasLimit && row.about === 'rows');
  });
}

/** Longest text that is always shown: a key has far more characters. */
const SHORT = 5;
/** Longest text that is ever shown: no key of a configuration has more characters. */
const LONG = 48;
/** A file name with more folders than this is not shown. */
const MOST_WORDS = 8;
/** One word of a name such as `max_series`, `toString`, `NEW_RELIC_API_KEY` or `eu1`; keys are random letters and digits. */
const WORD = /^(?=.{1,14}$)(?:[A-Za-z][a-z]*(?:[A-Z][a-z]+)*|[A-Z]+|[a-z]{1,3}[0-9]{1,2}|[0-9]{1,4})$/;
/** What the service's own keys begin with, in any case of letters: NRAK, NRAL, NRAA and so on. */
const KEY_PREFIX = /NR[A-Z]{2}-|NRAK/i;

/**
 * True when a text of a configuration file may be a key of the service or another secret, so that no message may repeat
 * it. Only a text that is plainly a name made of words is no secret. A forgotten space, for instance, makes one key out of
 * `api_key:NRAK-...`.
 */
export function mayBeSecret(text: string): boolean {
  if (text.length <= SHORT) return false;
  if (text.length > LONG || KEY_PREFIX.test(text)) return true;
  const words = text.replace(/^[._/]+|_+$/g, '').split(/[-_./]/);
  return words.length > MOST_WORDS || !words.every((word) => WORD.test(word));
}

/** Matches a quotation, or a function with its brackets. An apostrophe within a word ("we're") begins no quotation. */
const QUOTED = /(?<!\w)'[^']*'|"[^"]*"|`[^`]*`|\b\w+\(\)/g;

/** Returns New Relic's own words: the message without quotations from the query. */
export function removeQuotations(message: string): string {
  return message.replace(QUOTED, ' ');
}

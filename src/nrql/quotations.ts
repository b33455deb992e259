/** A quotation, or a function with its brackets; the apostrophe within a word ("we're") begins none. */
const QUOTED = /(?<!\w)'[^']*'|"[^"]*"|`[^`]*`|\b\w+\(\)/g;

/** New Relic's own words of a message: without what it quotes of a query, and so of users. */
export function removeQuotations(message: string): string {
  return message.replace(QUOTED, ' ');
}

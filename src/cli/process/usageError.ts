/** The command was used wrongly; the message is a sentence, and the exit status is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

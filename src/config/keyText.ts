/** Why a text cannot be sent as a key, as a sentence that does not quote it; undefined when it can. */
export function keyProblem(key: string): string | undefined {
  if (key === '') return 'must not be empty';
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return 'has a character that a key cannot have (a space, a line break or one beyond ASCII): check how it was copied';
  }
  return undefined;
}

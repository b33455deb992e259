/** Headers of an answer; names are in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The value of a header that should be there once. */
export function firstHeader(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value)?.trim();
}

/** The value of a header that is a list: sent twice means the same as with a comma. */
export function joinedHeader(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

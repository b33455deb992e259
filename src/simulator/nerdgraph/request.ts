import * as z from 'zod';
import type { GraphqlRequest } from './executor.ts';

const REQUEST = z.object({
  query: z.string(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  operationName: z.string().nullish(),
});

/** The GraphQL call in a body; undefined when it is none. */
export function readRequest(text: string): GraphqlRequest | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = REQUEST.safeParse(body);
  if (!parsed.success) return undefined;
  const { query, variables, operationName } = parsed.data;
  return { query, variables: variables ?? {}, operationName: operationName ?? undefined };
}

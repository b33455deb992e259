import type { JsonObject } from './json.ts';

/** What the service says to a call, before it is written as JSON or XML. */
export interface Answer {
  readonly status: number;
  readonly body: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
}

export function ok(body: JsonObject, link?: string): Answer {
  return { status: 200, body, headers: link === undefined ? {} : { Link: link } };
}

/** The shape of the service's errors: a title, and messages where there is more to say. */
export function failure(
  status: number,
  title: string,
  messages: readonly string[] = [],
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const error = messages.length === 0 ? { title } : { title, messages };
  return { status, body: { error }, headers };
}

const NOT_FOUND_TITLE = 'The requested resource was not found';

export function notFound(): Answer {
  return failure(404, NOT_FOUND_TITLE);
}

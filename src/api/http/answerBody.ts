import { CallFailure } from './callFailure.ts';
import { hasError, titleOf } from './errorTitle.ts';
import { isObject } from './shapes.ts';
import type { KeyMask } from './keyMask.ts';

/** The JSON object in the text of an answer. Throws a CallFailure (`invalid_response`) for anything else. */
export function parseObject(text: string, status: number, mask: KeyMask): Readonly<Record<string, unknown>> {
  const invalid = (words: string): CallFailure => new CallFailure('invalid_response', words, { status });
  let body: unknown;
  try {
    body = JSON.parse(mask.hideInBody(text));
  } catch {
    throw invalid(notJson(text));
  }
  if (!isObject(body) || Array.isArray(body)) throw invalid('the answer is no JSON object');
  return body;
}

/** The failure that a body reports by itself, which a status of 200 does not rule out. */
export function bodyFailure(
  body: Readonly<Record<string, unknown>>,
  status: number,
  mask: KeyMask,
): CallFailure | undefined {
  if (!hasError(body)) return undefined;
  const title = titleOf(body, mask);
  const words = `status ${status} with an error in its body${title === undefined ? '' : `: ${title}`}`;
  return new CallFailure('invalid_response', words, { status });
}

function notJson(text: string): string {
  const start = text.trimStart();
  if (start === '') return 'the answer is empty';
  return start.startsWith('<') ? 'the answer is a web page, not JSON' : 'the answer is not JSON';
}

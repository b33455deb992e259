import type { Answer } from '../wire/answer.ts';
import { limited } from '../wire/rateLimit.ts';
import { invalidKey } from '../wire/key.ts';
import type { Rendered } from '../wire/write.ts';
import { render } from '../wire/write.ts';
import type { FaultRule } from './rule.ts';

/** What a fault that answers in the place of the service may say. */
export interface RefusalContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly key: string;
  readonly isGraphql: boolean;
}

const HTML = { 'Content-Type': 'text/html; charset=utf-8' };
const page = (title: string): string =>
  `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
const json = (status: number, headers: Readonly<Record<string, string>> = {}): Rendered => ({
  status,
  headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
  text: '{}',
});

const PAYMENT = 'Payment Required';
const RATE_LIMIT_PER_MINUTE = 1000;

function tooMany(header: 'retry-after' | 'reset' | 'old' | 'none', seconds: number, now: number): Rendered {
  const reset = Math.ceil(now / 1000) + seconds;
  switch (header) {
    case 'retry-after':
      return json(429, { 'Retry-After': String(seconds) });
    case 'reset':
      return render(limited(RATE_LIMIT_PER_MINUTE, reset), 'json');
    case 'old':
      return json(429, { 'NewRelic-OverloadProtection-Reset': String(reset) });
    case 'none':
      return json(429);
  }
}

function badGraphqlKey(key: string): Answer {
  const error = { message: 'authentication required', extensions: { error_code: 'BAD_API_KEY', api_key: key } };
  return { status: 401, body: { errors: [error] }, headers: {} };
}

/** The answer of a fault that needs nothing from the service; undefined for the other effects. */
export function refuse(rule: FaultRule, { now, key, isGraphql }: RefusalContext): Rendered | undefined {
  switch (rule.effect) {
    case 'status':
      return { ...json(rule.status, rule.headers), text: rule.body };
    case 'rate-limit':
      return tooMany(rule.header, rule.seconds, now);
    case 'unavailable':
      return {
        ...json(503, { 'Retry-After': String(rule.seconds) }),
        text: '{"error":{"title":"Service Unavailable"}}',
      };
    case 'invalid-key':
      return render(isGraphql ? badGraphqlKey(key) : invalidKey(key), 'json');
    case 'payment-required':
      return {
        ...json(402),
        text: JSON.stringify(isGraphql ? { errors: [{ message: PAYMENT }] } : { error: { title: PAYMENT } }),
      };
    case 'forbidden-page':
      return { status: 403, headers: HTML, text: page('403 Forbidden') };
    case 'empty':
      return { ...json(200), text: '' };
    case 'html':
      return { status: 200, headers: HTML, text: page('Be right back') };
    case 'redirect':
      return {
        status: rule.status,
        headers: { Location: rule.location },
        text: `You are being redirected ${rule.location}\n`,
      };
    default:
      return undefined;
  }
}

import { describe, expect, it } from 'vitest';
import { failureOf, listHosts, serve } from '../support/reading.ts';

const REFUSAL = JSON.stringify({ error: { title: 'Not for you' } });
const PAGE = '<html><title>Forbidden</title></html>';

describe('a failed call', () => {
  it.each<[string, number, string, boolean]>([
    ['400 in the form of New Relic', 400, REFUSAL, true],
    ['403 in the form of New Relic', 403, REFUSAL, true],
    ['404 in the form of New Relic', 404, REFUSAL, true],
    ['422 in the form of New Relic', 422, REFUSAL, true],
    ['422 with a list of errors', 422, JSON.stringify({ errors: [{ message: 'No such name' }] }), true],
    ['401 in the form of New Relic', 401, REFUSAL, false],
    ['500 in the form of New Relic', 500, REFUSAL, false],
    ['400 with a page', 400, PAGE, false],
    ['403 with a page', 403, PAGE, false],
    ['404 with a page', 404, PAGE, false],
    ['422 with a page', 422, PAGE, false],
    ['403 without a body', 403, '', false],
    ['403 with JSON of a gateway', 403, '{"message":"Forbidden"}', false],
    ['404 with an empty object', 404, '{}', false],
  ])('is an answer of New Relic, or not, with status %s', async (_, status, body, isAnswer) => {
    const { reader, health, call } = await serve((response) => response.writeHead(status).end(body));
    await failureOf(listHosts(reader, 7, call));
    expect(health.answers).toBe(isAnswer ? 1 : 0);
  });
});

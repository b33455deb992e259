import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { REASONS } from '../../../src/tools/facts/evidence.ts';
import { renderFactsJson } from '../../../src/tools/facts/runFacts.ts';
import { listen } from '../../api/support/testServer.ts';
import { checkSimulator, closeSimulators } from './support.ts';

afterAll(closeSimulators);

const MARK = 'MARK9f3';
/** Texts that give a response its meaning; marking them as well leads to other rows. */
const STRUCTURE = /^(?:guid|nextCursor|from|to|key|values|facet|metricTimesliceName|name)$/;

/** A JSON value with a mark in its texts, numbers written as texts among them. */
function marked(value: unknown, key: string, isWhole: boolean): unknown {
  if (typeof value === 'string') return isWhole || !STRUCTURE.test(key) ? `${value}${MARK}` : value;
  if (Array.isArray(value)) return value.map((each) => marked(each, key, isWhole));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, marked(each, name, isWhole)]));
}

/** Starts a proxy of a simulator that marks every text of its responses. */
async function marking(isWhole: boolean, target: string): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const names = ['api-key', 'x-api-key', 'content-type', 'accept'].filter((name) => name in request.headers);
      const headers = Object.fromEntries(names.map((name) => [name, String(request.headers[name])]));
      const body = request.method === 'POST' ? await buffer(request) : undefined;
      const answer = await fetch(`${target}${request.url ?? ''}`, {
        method: request.method ?? 'GET',
        headers,
        ...(body && { body }),
      });
      const text = JSON.stringify(marked(await answer.json(), '', isWhole));
      response.writeHead(answer.status, { 'content-type': 'application/json', link: answer.headers.get('link') ?? '' });
      response.end(text);
    })();
  });
  const { port, close } = await listen(server);
  onTestFinished(close);
  return `http://127.0.0.1:${port}`;
}

it.each([
  ['rest', false],
  ['rest', true],
  ['nerdgraph', false],
  ['nerdgraph', true],
] as const)(
  'the file to share contains no text of the account, over %s (all texts marked: %s)',
  async (api, isWhole) => {
    const found = await checkSimulator(api, {
      through: (target) => marking(isWhole, target),
      account: `${MARK}-account`,
    });
    const text = renderFactsJson([found], false);
    expect(found.account).toContain(MARK);
    expect(text).not.toContain(MARK);
    for (const secret of ['Storefront', 'storefront', '1000001', '1234567', 'NRAK', 'SELECT', '127.0.0.1', ':07']) {
      expect(text).not.toContain(secret);
    }
    const reasons = [...text.matchAll(/"why": "([^"]*)"/g)].map(([, why]) => why);
    expect(reasons.filter((why) => !REASONS.some((known) => known === why))).toEqual([]);
    expect(text).toMatch(/"day": "\d{4}-\d\d-\d\d",/);
    expect(text).not.toContain('calls":');
    if (!isWhole && api === 'nerdgraph') expect(text).toContain('"word": "other"');
  },
);

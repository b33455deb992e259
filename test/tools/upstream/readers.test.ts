import { afterEach, expect, it } from 'vitest';
import { Secrets } from '../../../src/log/secrets.ts';
import { json, startServer, type Responder, type TestServer } from '../../api/support/testServer.ts';
import { configOf } from '../../config/reading.ts';
import { readAll } from '../../api/support/reading.ts';
import { FREE_CALL as call, openedReader } from './support.ts';

const KEY = 'NRAK-OPENEDREADER0123456789';

const running: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const each of running.splice(0).toReversed()) await each.close();
});

/** A reader as the program opens it, of an account with these keys more, and the server that it reads. */
async function opened(answer: Responder, keys: string, more = '') {
  const server: TestServer = await startServer(answer);
  const secrets = new Secrets();
  const config = configOf(`accounts: [{api: rest, api_key: ${KEY}, base_url: "${server.origin}", ${keys}}]\n${more}`);
  const [account] = config.accounts;
  if (account === undefined) throw new Error('there is no account');
  const read = openedReader(account, config, { secrets });
  running.push(server, read.reader);
  return { server, reader: read.reader, keyMark: () => read.keyMark(), secrets };
}

const nothing: Responder = (response) => json(response, { applications: [] });

it.each([
  ['X-Api-Key', 'x-api-key', 'api-key'],
  ['Api-Key', 'api-key', 'x-api-key'],
])('a reader sends the key in the configured header %s, and in no other header', async (header, used, other) => {
  const { server, reader } = await opened(nothing, `api_key_header: ${header}`);
  await reader.listApplications({}, call);
  expect([server.asked[0]?.headers[used], server.asked[0]?.headers[other]]).toEqual([KEY, undefined]);
});

it.each([0, 1])('a reader tries a call again as often as configured: %i times', async (retries) => {
  const { server, reader } = await opened(
    (response) => json(response, {}, {}, 500),
    `limits: {max_retries: ${retries}}`,
  );
  await expect(reader.listApplications({}, call)).rejects.toThrow('status 500');
  expect(server.asked).toHaveLength(1 + retries);
});

it('a reader waits for a response as long as configured', async () => {
  const { reader } = await opened(() => undefined, 'limits: {max_retries: 0, request_timeout: 200ms}');
  await expect(reader.listApplications({}, call)).rejects.toThrow('no response within 0.2 s');
});

it.each([true, false])('a reader asks for unrounded values where configured: %s', async (raw) => {
  const answer: Responder = (response) => json(response, { metric_data: { metrics: [] } });
  const { server, reader } = await opened(answer, 'hosts: false', `collection: {raw_values: ${raw}}\n`);
  const subject = { applicationId: 7, hostKey: undefined, metrics: { names: ['Apdex'] } };
  await readAll(reader.metricData, [subject], { from: 600, to: 780 }, call);
  expect(server.asked[0]?.url.searchParams.get('raw')).toBe(raw ? 'true' : null);
});

it('a reader hides its key in later log lines, and the fingerprint does not show the key', async () => {
  const { keyMark, secrets } = await opened(nothing, 'hosts: false');
  expect(secrets.mask(`it was ${KEY}`)).not.toContain(KEY);
  expect(keyMark()).toMatch(/^[0-9a-f]{64}$/);
});

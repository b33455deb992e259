import bcrypt from 'bcryptjs';
import { expect, onTestFinished, test } from 'vitest';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account, nerdGraphAccount } from './support/config.ts';
import { exporterForTest } from './support/forTest.ts';
import { Front } from './support/front.ts';

const USERS = `basic_auth_users: {alice: ${JSON.stringify(bcrypt.hashSync('wonderland', 4))}}\n`;
const HIDDEN = '<secret>';

test('the key leaves the process only in one header of each call; refused logins are counted and logged', async () => {
  const simulator = await simulatorForTest({ applications: 4, hostsPerApplication: 2, keyTransactions: 2 });
  const front = await Front.open(simulator.port);
  onTestFinished(() => front.close());
  const upstream = { url: `http://127.0.0.1:${front.port}` };
  const metrics = [{ name: 'shop_transactions', value: 'count', help: 'Transactions.' }];
  const queries = [{ name: 'q', nrql: 'SELECT count(*) FROM Transaction', metrics }];
  const accounts = [
    account(upstream, 'rest', { instances: true }),
    nerdGraphAccount(upstream, 'nerdgraph', { queries }),
  ];
  const exporter = await exporterForTest({
    config: { accounts },
    files: { 'web.yaml': USERS },
    flags: ['--log.level=debug', '--web.config.file=web.yaml'],
  });
  const as = (login: string) => ({ authorization: `Basic ${Buffer.from(login).toString('base64')}` });
  const read = (path: string): Promise<string> => exporter.text(path, as('alice:wonderland'));
  await read('/metrics');
  const calls = front.sent.flatMap((text) => text.split(/(?=(?:GET|POST) \/\S* HTTP\/1\.1\r\n)/));
  for (const method of ['GET', 'POST']) expect(calls.some((call) => call.startsWith(method))).toBe(true);
  for (const call of calls) {
    const header = `${call.startsWith('GET') ? 'X-Api-Key' : 'Api-Key'}: ${DEMO_API_KEY}`;
    expect(call.split(DEMO_API_KEY)).toHaveLength(2);
    const lines = call.split('\r\n\r\n')[0]?.split('\r\n') ?? [];
    expect(lines.filter((line) => line.toLowerCase() === header.toLowerCase())).toHaveLength(1);
  }
  const config = await read('/config');
  expect(config.match(/api_key: .*/g)).toEqual([`api_key: ${HIDDEN}`, `api_key: ${HIDDEN}`]);
  const probe = '/probe?account=rest&app_id=1000001&debug=true';
  const pages = await Promise.all(['/metrics', '/', '/api/status', '/sd', probe].map(read));
  for (const text of [config, ...pages, exporter.output()]) expect(text).not.toContain(DEMO_API_KEY.slice(0, 12));

  for (const login of ['alice:guess', 'nobody:wonderland'])
    expect((await exporter.get('/metrics', as(login))).status).toBe(401);
  expect((await exporter.get('/metrics')).status).toBe(401);
  expect(await read('/metrics?collect[]=exporter')).toContain('\nnewrelic_exporter_web_refused_logins_total 2\n');
  expect(exporter.output().match(/level=warn .*Refused a login from 127\.0\.0\.1/g)).toHaveLength(1);
});

import { describe, expect, test } from 'vitest';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { until } from '../real/support/until.ts';
import { certificate, LOCALHOST } from '../support/certificates.ts';
import { hostileClients, requestText } from '../web/support/hostile.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { account } from './support/config.ts';
import { exporterForTest } from './support/forTest.ts';

/** Calls and scrapes that are under way last longer than a test may: a shutdown that waited for one of them would not end. */
const HANGING = { request_timeout: '10m' };

describe.concurrent.each([
  ['http', 'SIGTERM'],
  ['https', 'SIGINT'],
] as const)('with clients that never disconnect, over %s', (scheme, signal) => {
  test(`${signal} answers waiting scrapes and ends the exporter with status 0, whatever clients and New Relic do`, async ({
    onTestFinished,
  }) => {
    const simulator = await simulatorForTest({ applications: 40 }, onTestFinished);
    simulator.faults.add({ effect: 'hang', on: 'metric_data' });
    const { cert, key } = await certificate('localhost', LOCALHOST);
    const exporter = await exporterForTest(
      {
        config: { accounts: [account(simulator, 'default', { hosts: false, limits: HANGING })] },
        files: { 'web.yaml': 'tls_server_config: {cert_file: s.pem, key_file: s.key}\n', 's.pem': cert, 's.key': key },
        flags: scheme === 'https' ? ['--web.config.file=web.yaml'] : [],
      },
      onTestFinished,
    );
    const { port } = exporter;
    const tls = scheme === 'https';
    const silent = await hostileClients(30, port);
    const handshaken = await hostileClients(30, port, { tls });
    const halfSent = await hostileClients(10, port, { tls });
    halfSent.forEach(({ socket }) => socket.write('POST /-/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx'));
    const deaf = await hostileClients(10, port, { tls, deaf: true });
    deaf.forEach(({ socket }) => socket.write(requestText('/api/status').repeat(30)));
    const waiting = await hostileClients(10, port, { tls });
    waiting.forEach(({ socket }) =>
      socket.write(requestText('/-/healthy') + requestText('/metrics', ['X-Prometheus-Scrape-Timeout-Seconds: 120'])),
    );
    // Both requests arrive together: without an answer to the first, the signal may overtake the scrape.
    await until('the requests to arrive', () => waiting.every((client) => client.received() !== ''));
    await until('a call to hang', () => simulator.requests.count('metric_data') > 0);
    exporter.signal(signal);
    expect(await exporter.ended).toEqual({ status: 0, signal: null });
    await Promise.all([...silent, ...handshaken, ...halfSent, ...waiting].map(({ closed }) => closed));
    for (const client of waiting) expect(client.received()).toContain('\nnewrelic_up{account="default"} 1\n');
    for (const { socket } of deaf) socket.destroy();
    expect(exporter.output()).not.toContain('level=error');
  });
});

test('a second signal ends the exporter at once', async () => {
  const simulator = await simulatorForTest({ applications: 2 });
  simulator.faults.add({ effect: 'hang' });
  const exporter = await exporterForTest({ config: { accounts: [account(simulator)] } });
  const scrape = exporter.text('/metrics', { 'X-Prometheus-Scrape-Timeout-Seconds': '60' }).catch(() => 'cut off');
  await until('a call to hang', () => simulator.requests.count() > 0);
  exporter.signal('SIGTERM');
  await exporter.said(/Shutting down/);
  exporter.signal('SIGTERM');
  expect((await exporter.ended).status).not.toBe(0);
  expect(await scrape).toBe('cut off');
});

test('an uncaught error is logged with its place, keys hidden, and ends the exporter with status 1', async () => {
  const simulator = await simulatorForTest({ applications: 2 });
  const script = `process.on('SIGUSR2', () => { throw new Error('nobody foresaw this of ${DEMO_API_KEY}'); });`;
  const exporter = await exporterForTest({
    config: { accounts: [account(simulator)] },
    nodeArgs: [`--import=data:text/javascript,${encodeURIComponent(script)}`],
  });
  await exporter.scrape();
  exporter.signal('SIGUSR2');
  expect(await exporter.ended).toEqual({ status: 1, signal: null });
  expect(exporter.output()).toMatch(/level=error .*"?Unexpected error, shutting down"?.*nobody foresaw this/);
  expect(exporter.output()).toMatch(/ at /);
  expect(exporter.output()).not.toContain(DEMO_API_KEY);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addSimulatorFlags, simulatorOptions, type SimulatorFlags } from '../../src/tools/simulatorFlags.ts';
import { temporaryFolders } from '../config/folder.ts';
import { runInProcess } from '../support/inProcess.ts';
import { simulatorForTest } from '../support/simulator.ts';

const newFolder = temporaryFolders();

/** What the flags come to, without starting anything. */
async function options(...args: string[]) {
  let parsed: SimulatorFlags | undefined;
  const command = addSimulatorFlags(new Command('test')).action((flags: SimulatorFlags) => {
    parsed = flags;
  });
  await command.parseAsync(args, { from: 'user' });
  return simulatorOptions(parsed!);
}

describe('the flags of the simulator', () => {
  it('have defaults for a demo on this machine', async () => {
    expect(await options()).toEqual({
      host: '127.0.0.1',
      port: 9127,
      seed: 1,
      applications: 16,
      hostsPerApplication: 2,
      hostMetrics: 'documented',
      latencyMs: 0,
      rounding: true,
      inclusiveTo: false,
      metricsFound: true,
      callsPerMinute: 0,
      accountId: 1_234_567,
      accounts: [{ id: 1_234_567, name: 'Simulator' }],
      nrqlPerMinute: 3000,
      nrqlSnapping: false,
      lateData: 0,
      oddNames: false,
      control: true,
    });
  });

  it('set every option', async () => {
    const args =
      '--listen-address [::1]:0 --seed 7 --applications 450 --hosts-per-application 5 --key-transactions 230';
    const more =
      '--host-metrics all --latency 2s --api-key a --api-key b --no-rounding --calls-per-minute 1000 --no-control --account-id 42 --accounts 2 --nrql-per-minute 10 --nrql-snapping --late-data 0.05 --inclusive-to --no-metrics-found --odd-names';
    expect(await options(...`${args} ${more} --fault hang --fault status=503,times=2`.split(' '))).toEqual({
      host: '::1',
      port: 0,
      seed: 7,
      applications: 450,
      hostsPerApplication: 5,
      keyTransactions: 230,
      hostMetrics: 'all',
      latencyMs: 2000,
      apiKeys: ['a', 'b'],
      rounding: false,
      inclusiveTo: true,
      metricsFound: false,
      callsPerMinute: 1000,
      accountId: 42,
      accounts: [
        { id: 42, name: 'Simulator' },
        { id: 43, name: 'Simulator 2' },
      ],
      nrqlPerMinute: 10,
      nrqlSnapping: true,
      lateData: 0.05,
      oddNames: true,
      control: false,
      faults: [{ effect: 'hang' }, { effect: 'status', status: 503, times: 2, headers: {}, body: '{}' }],
    });
  });

  it('read the TLS files', async () => {
    const [cert, key] = ['cert', 'key'].map((name) => join(newFolder(), name)) as [string, string];
    writeFileSync(cert, 'a certificate');
    writeFileSync(key, 'a key');
    const { tls } = await options('--tls-cert-file', cert, '--tls-key-file', key);
    expect(tls).toEqual({ cert: 'a certificate', key: 'a key' });
  });

  it.each([
    ['--listen-address', 'nowhere', /use host:port, :port or \[IPv6\]:port/],
    ['--listen-address', '127.0.0.1:70000', /is not a valid listen address; .* a port up to 65535/],
    ['--seed', '-1', /whole number/],
    ['--applications', '0', /from 1 to/],
    ['--latency', '5', /duration such as/],
    ['--late-data', '5%', /ratio from 0 to 1/],
    ['--late-data', '1.5', /ratio from 0 to 1/],
    ['--host-metrics', 'some', /documented, all/],
    ['--fault', 'explode', /unknown effect/],
    ['--tls-cert-file', '/nowhere', /go together/],
    ['--colour', 'red', /unknown option/],
  ])('are rejected as wrong usage: %s %s', async (flag, value, message) => {
    const { status, stderr } = await runInProcess(['simulate', flag, value]);
    expect(status).toBe(2);
    expect(stderr).toMatch(message);
  });
});

describe('the command simulate', () => {
  it('reports in one sentence that the address is in use, and ends with status 1', async () => {
    const { port } = await simulatorForTest();
    const { status, stderr } = await runInProcess(['simulate', `--listen-address=127.0.0.1:${port}`]);
    expect(status).toBe(1);
    expect(stderr).toBe(`error: the address 127.0.0.1:${port} is in use: choose another with --listen-address\n`);
  });

  it('says where it listens and how to use it, and ends cleanly on ctrl-C', async () => {
    const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
    const args = ['--import', 'tsx', main, 'simulate', '--listen-address', '127.0.0.1:0'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await expect.poll(() => said).toContain('/control');
    expect(said).toMatch(/^Listening on http:\/\/127\.0\.0\.1:\d+ with 16 applications/);
    const base = /base_url: (\S+\/v2)/.exec(said)?.[1] ?? '';
    const key = /api_key: (\S+)/.exec(said)?.[1] ?? '';
    const reply = await fetch(`${base}/applications.json`, { headers: { 'X-Api-Key': key } });
    expect(reply.status).toBe(200);
    const graphql = await fetch(/base_url: (\S+\/graphql)/.exec(said)?.[1] ?? '', {
      method: 'POST',
      headers: { 'Api-Key': key },
      body: '{"query":"{ actor { accounts { id } } }"}',
    });
    expect(await graphql.json()).toEqual({ data: { actor: { accounts: [{ id: 1_234_567 }] } } });
    child.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
  });
});

import { expect, it } from 'vitest';
import { runProgram } from '../e2e/support/program.ts';

const KEY = { NEW_RELIC_API_KEY: 'NRAK-ABCD' };

it.each<[Readonly<Record<string, string>>, string]>([
  [{ HTTPS_PROXY: 'http://user:50%off@proxy.example' }, 'HTTPS_PROXY: has a "%" in its user name or password'],
  [{ https_proxy: 'socks5://proxy.example' }, 'https_proxy: names a SOCKS proxy'],
  [{ NEW_RELIC_ACCOUNT_ID: '1.234567e+06' }, 'NEW_RELIC_ACCOUNT_ID: has an exponent'],
  [{ NEW_RELIC_REGION: '"eu"' }, 'NEW_RELIC_REGION: has quotes around its value'],
])('check and serve refuse the environment %j in the same words', async (env, words) => {
  const runs = [['check'], ['--config.check'], ['serve', '--web.listen-address=127.0.0.1:0']].map((args) =>
    runProgram(args, { env: { ...KEY, ...env } }),
  );
  const [first, ...others] = await Promise.all(runs);
  expect(first?.stderr).toContain(`environment: ${words}`);
  expect(first?.stderr).not.toContain('50%');
  for (const { status, stderr } of others) expect([status, stderr]).toEqual([2, first?.stderr]);
});

it('check warns of what it does not understand in NO_PROXY, and serve logs it', async () => {
  const env = { ...KEY, HTTPS_PROXY: 'http://proxy.example:3128', NO_PROXY: 'localhost,10.*' };
  const { status, stderr } = await runProgram(['check'], { env });
  expect([status, stderr]).toEqual([0, expect.stringContaining('environment: NO_PROXY: warning: has an entry')]);
  expect(stderr).toContain('"10.*"');
  const served = await runProgram(['--web.listen-address=127.0.0.1:0'], {
    env,
    interruptOnce: (program) => program.output().includes('Listening'),
  });
  expect(served.stderr).toContain('environment: NO_PROXY: has an entry');
});

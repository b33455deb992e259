import { describe, expect, it } from 'vitest';
import { runProgram } from '../e2e/support/program.ts';

const PORTS = ['--web.listen-address=127.0.0.1:0'];

describe('demo', () => {
  it('needs no account, looks at no config.yaml and no environment variable, and stops cleanly on ctrl-C', async () => {
    const { status, stdout, stderr } = await runProgram(
      ['demo', ...PORTS, '--applications=3', '--hosts-per-application=1'],
      {
        config: 'accounts: [',
        env: {
          NEW_RELIC_API_KEY: 'NRAK-NOTTOBELOOKEDAT00000000',
          NEW_RELIC_REGION: 'moon',
          HTTPS_PROXY: ':::',
          HTTP_PROXY: 'http://127.0.0.1:1',
        },
        interruptOnce: ({ written: { stdout: text } }) =>
          text.includes('\nnewrelic_exporter_api_budget_requests_per_minute{account="demo-nerdgraph"'),
      },
    );
    expect(stderr).not.toMatch(/level=(?:warn|error)|\n {4}at /);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Simulated New Relic {4}http:\/\/127\.0\.0\.1:[1-9]\d*$/m);
    expect(stdout).toMatch(/^Metrics {16}http:\/\/127\.0\.0\.1:[1-9]\d*\/metrics$/m);
    expect(stdout).toMatch(/^newrelic_up\{account="demo"\} 1$/m);
    expect(stdout).toMatch(/^newrelic_application_response_time_seconds\{account="demo",.*\} 0?\.?\d/m);
    const [, rest, nerdGraph] =
      /: (\d+) series of account demo over REST.*\n.* (\d+) of account demo-nerdgraph over NerdGraph/.exec(stdout) ??
      [];
    // Instances and some families have no counterpart; nothing else is missing.
    expect(Number(rest)).toBeGreaterThan(Number(nerdGraph));
    expect(Number(nerdGraph)).toBeGreaterThan(Number(rest) / 2);
    expectSameLines(stdout);
  });

  it('says where everything is although the upstream fails from the start, and stops cleanly', async () => {
    const { status, stdout, stderr } = await runProgram(['demo', ...PORTS, '--applications=1', '--fault=invalid-key'], {
      interruptOnce: ({ written: { stdout: text } }) => text.includes('Stop with ctrl-C.\n'),
    });
    expect(status).toBe(0);
    expect(stderr).not.toMatch(/\n {4}at |AbortError/);
    expect(stdout).toContain('Status page');
    expect(stdout).not.toMatch(/^newrelic_/m);
  });

  it('takes the flags of both, and says in a sentence that one is wrong', async () => {
    const { status, stderr } = await runProgram(['demo', '--applications=none']);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^error: option '--applications <number>' argument 'none' is invalid\./);
  });

  it('names the faults of a web configuration, as serve does, and ends with 2', async () => {
    const config = 'basic_auth_user: {}';
    const { status, stdout, stderr } = await runProgram(['demo', ...PORTS, '--web.config.file=config.yaml'], {
      config,
    });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toBe('config.yaml:1:1: basic_auth_user: unknown key; did you mean "basic_auth_users"?\n');
  });
});

/** The demo shows the same lines twice: the two interfaces give the same values but for rounding. */
function expectSameLines(stdout: string): void {
  const shown = [...stdout.matchAll(/^(newrelic_application_\w+)\{account="([^"]+)",(.*)\} (\S+)$/gm)];
  const of = (account: string): Map<string, number> =>
    new Map(
      shown
        .filter(([, , name]) => name === account)
        .map(([, family, , labels, value]) => [`${family}{${labels}}`, Number(value)]),
    );
  const rest = of('demo');
  const nerdGraph = of('demo-nerdgraph');
  expect(rest.size).toBe(7);
  expect([...nerdGraph.keys()]).toEqual([...rest.keys()]);
  for (const [series, value] of rest) {
    const other = nerdGraph.get(series) ?? NaN;
    expect(Math.abs(other - value), series).toBeLessThanOrEqual(0.1 * Math.max(other, value));
  }
}

import { describe, expect, it } from 'vitest';
import { runProgram } from '../e2e/support/program.ts';
import { runInProcess } from '../support/inProcess.ts';

const PORTS = ['--web.listen-address=127.0.0.1:0'];

describe('demo', () => {
  it('needs no account, looks at no config.yaml and no environment variable, and stops cleanly on ctrl-C', async () => {
    const isRead = (found: string): boolean =>
      ['demo', 'demo-nerdgraph'].every((account) =>
        found.includes(`\nnewrelic_application_response_time_seconds{account="${account}",`),
      );
    let metrics = '';
    let isScraping = false;
    const { status, stdout, stderr } = await runProgram(
      ['demo', ...PORTS, '--applications=3', '--hosts-per-application=1'],
      {
        config: 'accounts: [',
        env: { NEW_RELIC_API_KEY: 'NRAK-NOTTOBELOOKEDAT', NEW_RELIC_REGION: 'moon', HTTPS_PROXY: ':::' },
        interruptOnce: ({ written: { stdout: text } }) => {
          const [, url] = /^Metrics {16}(http:\/\/127\.0\.0\.1:[1-9]\d*\/metrics)$/m.exec(text) ?? [];
          if (url === undefined || isRead(metrics) || isScraping) return isRead(metrics);
          isScraping = true;
          // On a busy machine a scrape may end before the data come.
          void fetch(url).then(async (response) => {
            metrics = await response.text();
            isScraping = false;
          });
          return false;
        },
      },
    );
    expect(stderr).not.toMatch(/level=(?:warn|error)|\n {4}at /);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Simulated New Relic {4}http:\/\/127\.0\.0\.1:[1-9]\d*$/m);
    expect(stdout).toContain('Status page');
    expect(metrics).toMatch(/\nnewrelic_up\{account="demo"\} 1\n/);
  });

  it('says where everything is although the upstream fails from the start, and stops cleanly', async () => {
    const { status, stdout, stderr } = await runProgram(['demo', ...PORTS, '--applications=1', '--fault=invalid-key'], {
      interruptOnce: ({ written: { stdout: text } }) => text.includes('Stop with ctrl-C.\n'),
    });
    expect(status).toBe(0);
    expect(stderr).not.toMatch(/\n {4}at |AbortError/);
    expect(stdout).toContain('Status page');
  });

  it('names the faults of a web configuration, as serve does, and ends with 2', async () => {
    const options = { config: 'basic_auth_user: {}' };
    expect(await runInProcess(['demo', ...PORTS, '--web.config.file=config.yaml'], options)).toEqual({
      status: 2,
      stdout: '',
      stderr: 'config.yaml:1:1: basic_auth_user: unknown key; did you mean "basic_auth_users"?\n',
    });
  });
});

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runProgram, startExporter } from '../e2e/support/program.ts';
import { runInProcess } from '../support/inProcess.ts';
import { spedUp } from '../support/spedUp.ts';

const PORTS = ['--web.listen-address=127.0.0.1:0'];

/** Half an hour of the program, and more on a slow machine. */
const WITHIN = { timeout: 200_000, interval: 500 };

/** What the test reads of `/api/status`. */
interface Status {
  readonly now: number;
  readonly verdict: string;
  readonly verdict_text: string;
  readonly accounts: readonly {
    readonly name: string;
    readonly groups: readonly {
      readonly group: string;
      readonly last_success: number | null;
      readonly effective_interval_seconds: number;
      readonly entities: { readonly stale: number; readonly missing: number };
    }[];
  }[];
}

/** Names the groups that were not read for two intervals, or have values that are stale or missing. */
function findOldReads({ now, accounts }: Status): readonly string[] {
  return accounts.flatMap(({ name, groups }) =>
    groups
      .filter(({ last_success: last, effective_interval_seconds: interval, entities: { stale, missing } }) => {
        return now - (last ?? 0) > 2 * interval || stale + missing > 0;
      })
      .map(({ group }) => `${name}: ${group}`),
  );
}

describe('demo', () => {
  it('needs no account, reads no config.yaml and no environment variable, and stops cleanly on ctrl-C', async () => {
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

  it('prints its addresses although the simulator fails from the start, and stops cleanly', async () => {
    const { status, stdout, stderr } = await runProgram(['demo', ...PORTS, '--applications=1', '--fault=invalid-key'], {
      interruptOnce: ({ written: { stdout: text } }) => text.includes('Stop with ctrl-C.\n'),
    });
    expect(status).toBe(0);
    expect(stderr).not.toMatch(/\n {4}at |AbortError/);
    expect(stdout).toContain('Status page');
  });

  it('reports the faults of a web configuration as serve does, and ends with 2', async () => {
    const options = { config: 'basic_auth_user: {}' };
    expect(await runInProcess(['demo', ...PORTS, '--web.config.file=config.yaml'], options)).toEqual({
      status: 2,
      stdout: '',
      stderr: 'config.yaml:1:1: basic_auth_user: unknown key; did you mean "basic_auth_users"?\n',
    });
  });

  it('has an incident at once that ends and comes again, also while nobody scrapes', async () => {
    const demo = await startExporter({
      args: ['demo', '--listen-address=127.0.0.1:0', '--applications=3', '--hosts-per-application=1'],
      ...spedUp(60),
    });
    onTestFinished(async () => {
      await demo.stop();
    });
    const readStatus = async () => JSON.parse(await demo.text('/api/status')) as Status;
    /** Waits for a verdict that names the application with the incident, or that does not. */
    const untilNamed = (isNamed: boolean) =>
      vi.waitFor(async () => {
        const status = await readStatus();
        // A read that fails, as on a busy machine, has a verdict that names no application.
        expect(['well', 'trouble']).toContain(status.verdict);
        expect(status.verdict_text.includes('Checkout API (')).toBe(isNamed);
        return status;
      }, WITHIN);
    const { verdict } = await untilNamed(true);
    expect(verdict).toBe('trouble');
    await untilNamed(false);
    await untilNamed(true);
    await vi.waitFor(async () => expect(findOldReads(await readStatus())).toEqual([]), WITHIN);
    const found = await demo.text('/metrics');
    for (const account of ['demo', 'demo-nerdgraph']) {
      expect(found).toContain(`\nnewrelic_application_response_time_seconds{account="${account}",`);
    }
  });
});

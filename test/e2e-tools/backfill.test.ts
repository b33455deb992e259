import { afterEach, describe, expect, it } from 'vitest';
import { parseFault } from '../../simulator/faults/faultRules.ts';
import { simulatorForFile } from '../support/simulator.ts';
import { account, accountBy } from '../e2e/support/config.ts';
import { runProgram } from '../e2e/support/program.ts';
import { commandsOn, type ToolResult } from '../support/inProcess.ts';

const simulator = await simulatorForFile({ nrqlSnapping: true, applications: 3, hostsPerApplication: 1 });
afterEach(() => simulator.faults.clear());

const MINUTE = 60_000;
const begin = Math.floor(Date.now() / MINUTE) * MINUTE;
const ago = (minutes: number): string => new Date(begin - minutes * MINUTE).toISOString();

const RANGE = [`--from=${ago(300)}`, `--to=${ago(60)}`];

function backfill(api: 'rest' | 'nerdgraph', ...flags: readonly string[]): Promise<ToolResult> {
  // Long enough for a healthy call on a busy machine.
  const limits = { request_timeout: '3s', max_concurrent_requests: 2 };
  return commandsOn(accountBy(api, simulator, { limits }))('backfill', ...RANGE, ...flags);
}

describe('backfill', () => {
  it.each([
    ['rest', 'hang,on=metric_data,skip=1,times=2'],
    ['nerdgraph', 'rate-limit=retry-after,seconds=1,on=graphql_nrql,skip=1,times=2'],
  ] as const)('over %s writes the same document although "%s" happens halfway', async (api, fault) => {
    const { stdout: undisturbed, ...ended } = await backfill(api);
    expect(ended).toEqual({ status: 0, stderr: expect.stringContaining('Applications: 3;') as string });
    expect(undisturbed.length).toBeGreaterThan(10_000);
    simulator.faults.add(parseFault(fault));
    const { status, stdout } = await backfill(api);
    const [entry] = simulator.faults.entries();
    expect(entry?.matched).toBe((entry?.rule.skip ?? 0) + (entry?.rule.times ?? 0));
    expect(status).toBe(0);
    expect(stdout).toBe(undisturbed);
  });

  it('reads an application with --app=<id> by its id, without a list', async () => {
    simulator.requests.clear();
    const { status, stdout } = await backfill('rest', '--app=1000002');
    expect(status).toBe(0);
    expect(stdout).toContain('app_id="1000002"');
    expect(stdout).not.toContain('app_id="1000001"');
    const counts = simulator.requests.byKind;
    expect(counts['applications']).toBeUndefined();
    expect(counts['application']).toBe(1);
  });

  it('continues after SIGHUP, as from a closed terminal', async () => {
    let hungUp = false;
    const { status, stdout, stderr } = await runProgram(['backfill', ...RANGE], {
      config: { accounts: [account(simulator, 'shop')] },
      interruptOnce: (program) => {
        if (!hungUp && program.written.stderr.includes('Applications: 3;')) {
          hungUp = true;
          program.signal('SIGHUP');
        }
        return false;
      },
    });
    expect([status, hungUp]).toEqual([0, true]);
    expect(stderr).toContain('Ignoring the hangup');
    expect(stdout).toContain('# EOF');
  });
});

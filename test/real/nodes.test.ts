import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runProgram, startProgram } from '../e2e/support/program.ts';
import { parseText, samplesOf } from '../support/exposition.ts';
import { describeReal } from './support/realPrograms.ts';
import { until } from './support/until.ts';

// All other tests of the built program run on the newest Node.js.
describe(`the built program on the Node.js of the tests, ${process.version}`, () => {
  works(() => ({ path: process.execPath, version: process.version }));
});
await describeReal('the built program on Node.js 22', {
  tools: ['node22'],
  define: (program) => works(() => program('node22')),
});

function works(node: () => { readonly path: string; readonly version: string }): void {
  test('checks a configuration, and reports its faults', async () => {
    const file = join(import.meta.dirname, '../../package.json');
    const { status, output } = await runProgram(['check', `--config.file=${file}`], { node: node().path });
    expect([status, output]).toEqual([2, expect.stringMatching(/package\.json:1:\d+: accounts: /)]);
  });

  test('runs the demo over both interfaces, and ends at SIGTERM', async () => {
    const { path, version } = node();
    const demo = startProgram({ node: path, args: ['demo', '--web.listen-address=127.0.0.1:0'] });
    try {
      const [, address] = await demo.said(/(http:\/\/127\.0\.0\.1:\d+)\/metrics/);
      // A scrape may come before the data: it is answered with what is there by its deadline.
      const families = await until('both accounts to be read', async () => {
        const found = parseText(await (await fetch(`${address}/metrics`)).text());
        const isUp = samplesOf(found, 'newrelic_up').filter(({ value }) => value === 1).length === 2;
        return isUp && samplesOf(found, 'newrelic_application_response_time_seconds').length > 0 && found;
      });
      expect(samplesOf(families, 'newrelic_exporter_build_info')[0]?.labels['node_version']).toBe(version);
    } finally {
      demo.signal('SIGTERM');
      expect([(await demo.ended).status, demo.output()]).toEqual([0, demo.output()]);
    }
  });
}

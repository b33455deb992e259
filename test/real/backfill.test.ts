import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INTERFACE_DEFAULTS } from '../../src/config/interfaces.ts';
import { startSimulator, type Simulator } from '../../simulator/simulator.ts';
import type { After } from '../support/simulator.ts';
import { minutesAgo, isoTime, NOW, openSession, runOn } from '../tools/backfill/support.ts';
import { accountConfig, config } from '../collect/support/config.ts';
import { INTERFACE_OF } from './incidents/fleet.ts';
import { run } from './support/processes.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { startPrometheus, type PrometheusServer } from './support/servers.ts';

/** An application whose traffic the test prescribes: 120 requests a minute, 250 ms each, 3 errors. */
const STEADY = { requests_per_minute: 120, response_milliseconds: 250, errors_per_minute: 3, background_per_minute: 0 };

await describeReal('a backfill document', {
  tools: ['promtool', 'prometheus'],
  lines: BOTH_LINES,
  define: (program, line) => {
    const api = INTERFACE_OF[line];
    describe(`over ${api}`, () => {
      const [from, to] = [minutesAgo(5 * 60), minutesAgo(4 * 60)];
      let folder: string;
      let simulator: Simulator;
      let prometheus: PrometheusServer;
      const ends: Parameters<After>[0][] = [];

      beforeAll(async () => {
        folder = mkdtempSync(join(tmpdir(), 'backfill-real-'));
        simulator = await startSimulator({ rounding: false, now: () => NOW, applications: 2 });
        simulator.change(simulator.world.applications()[1]!.id, { traffic: STEADY });
        const account = accountConfig({ api, api_key_header: INTERFACE_DEFAULTS[api].api_key_header });
        const session = openSession(simulator, { config: config(account) }, (end) => ends.push(end));
        const output = join(folder, 'out.om');
        await runOn(session, {
          from: isoTime(from),
          to: isoTime(to),
          label: { job: 'newrelic' },
          hosts: true,
          output,
        });
        const blocks = join(folder, 'blocks');
        mkdirSync(blocks);
        const promtool = await run(program('promtool'), ['tsdb', 'create-blocks-from', 'openmetrics', output, blocks]);
        expect(promtool).toMatchObject({ status: 0, stderr: '' });
        // The blocks are put into the data folder before the server starts, as docs/backfill.md says.
        const real = program('prometheus');
        const script = 'mkdir data && cp -r "$0"/. data && exec "$@"';
        prometheus = await startPrometheus(
          { ...real, command: ['sh', '-c', script, blocks, ...real.command] },
          { config: 'global: {}\n', flags: ['--storage.tsdb.retention.time=100y'] },
        );
      });

      afterAll(async () => {
        for (const end of ends) await end();
        await prometheus.stop();
        await simulator.close();
        rmSync(folder, { recursive: true, force: true });
      });

      test('becomes blocks of its time range, which Prometheus serves', async () => {
        const names = readdirSync(join(folder, 'blocks')).filter((name) => /^[0-9A-Z]{26}$/.test(name));
        expect(names.length).toBeGreaterThan(0);
        expect(names.length).toBeLessThan(4);
        const counts = await prometheus.query('count_over_time(newrelic_application_web_requests_per_second[1h])', to);
        expect(counts.map(({ value }) => value)).toEqual([60, 60]);
        expect(counts.map(({ labels }) => labels['job'])).toEqual(['newrelic', 'newrelic']);
        expect(await prometheus.query('newrelic_application_web_requests_per_second', from - 60)).toEqual([]);
      });

      test('has the values of known traffic', async () => {
        const value = async (family: string): Promise<number> => {
          const selector = `newrelic_application_${family}{app_id="${simulator.world.applications()[1]!.id}"}`;
          const [sample, ...others] = await prometheus.query(selector, minutesAgo(270));
          expect(others).toEqual([]);
          return sample!.value;
        };
        expect(await value('web_requests_per_second')).toBeCloseTo(STEADY.requests_per_minute / 60, 9);
        expect(await value('errors_per_second')).toBeCloseTo(STEADY.errors_per_minute / 60, 9);
        expect(await value('error_ratio')).toBeCloseTo(3 / 120, 9);
        expect(await value('web_transaction_time_seconds')).toBeCloseTo(0.25, 9);
      });
    });
  },
});
